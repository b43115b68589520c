package collector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestAnAPIThatIsGivenIsAskedInThePoolsProtocol(t *testing.T) {
	t.Parallel()
	l := startLine(t,
		apiPool("http", "http", config.ProtocolHTTP), apiPool("https", "https", config.ProtocolHTTP),
		apiPool("grpc", "http", config.ProtocolGRPC), apiPool("grpcs", "https", config.ProtocolGRPC),
	)
	for _, id := range []string{"http", "https", "grpc", "grpcs"} {
		l.eventually(`trtllm_exporter_target_up{pool_id="` + id + `",replica_id="r0"} 0`)
		for _, slot := range l.store.Slots() {
			if slot.Target().PoolID == id {
				require.Equal(t, id+"://127.0.0.1:1", slot.Target().APIURL)
			}
		}
	}
}

// apiPool is a pool of one Triton that nobody runs.
func apiPool(id, scheme, protocol string) config.Pool {
	p := pool(id, "r0=127.0.0.1:2|127.0.0.1:1")
	p.Engine, p.Scheme, p.APIProtocol = "triton", scheme, protocol
	return p
}
