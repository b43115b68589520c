package config_test

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestTargetThatIsTheExporterItself(t *testing.T) {
	hostname, err := os.Hostname()
	require.NoError(t, err)
	for _, tc := range []struct {
		name, target, listen string
		self                 bool
	}{
		{"localhost on every address", "localhost:9400", ":9400", true},
		{"loopback on every address", "127.0.0.1:9400", "0.0.0.0:9400", true},
		{"IPv6 loopback on every address", "[::1]:9400", "[::]:9400", true},
		{"own host name", net.JoinHostPort(hostname, "9400"), ":9400", true},
		{"same literal address", "192.0.2.1:9400", "192.0.2.1:9400", true},
		{"same name in other letters", "Exporter.example:9400", "exporter.example:9400", true},
		{"loopback only", "localhost:9400", "127.0.0.1:9400", true},
		{"other port", "localhost:8002", ":9400", false},
		{"other host", "192.0.2.1:9400", ":9400", false},
		{"other literal address", "192.0.2.2:9400", "192.0.2.1:9400", false},
		{"remote host while on loopback", "192.0.2.1:9400", "127.0.0.1:9400", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := config.FromTargets([]string{"http://" + tc.target}, config.DefaultPool)
			require.NoError(t, err)
			err = f.CheckListen(tc.listen)
			if !tc.self {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `pools[0].static_configs[0].targets[0]: "`+tc.target+`" is this exporter itself, which listens on `+tc.listen+`; name the server's metrics port`)
		})
	}
}

func TestListenAddressMustHaveAPort(t *testing.T) {
	f, err := config.FromTargets([]string{"http://triton"}, config.DefaultPool)
	require.NoError(t, err)
	require.ErrorContains(t, f.CheckListen("localhost"), "write it like :9400")
}

func TestAnAddressOfThisMachineIsTheExporterOnEveryAddress(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		require.True(t, ok)
		if network.IP.IsLinkLocalUnicast() {
			continue // A target would need the zone too.
		}
		target := net.JoinHostPort(network.IP.String(), "9400")
		f, err := config.FromTargets([]string{"http://" + target}, config.DefaultPool)
		require.NoError(t, err)
		require.ErrorContains(t, f.CheckListen(":9400"), "is this exporter itself", target)
	}
}
