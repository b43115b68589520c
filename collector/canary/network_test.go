package canary_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// network is an HTTP server with a client, over connections in memory: HTTP is real, time is
// fake. It implements canary.Opener.
type network struct {
	*fixture.Listener

	rt      *http.Transport
	secrets secret.Store
}

func newNetwork() *network {
	l := fixture.Listen()
	return &network{Listener: l, rt: &http.Transport{DialContext: l.DialContext, DisableCompression: true}}
}

// serve runs a server in the bubble of the test until it ends.
func serve(t *testing.T, h http.Handler) *network {
	t.Helper()
	n := newNetwork()
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(n) // Ends when it is closed.
	}()
	t.Cleanup(func() {
		n.rt.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return n
}

// Open implements canary.Opener.
func (n *network) Open(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return n.rt.RoundTrip(req)
}

// bubble returns a test that runs with a fake clock.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// base is the server's address.
const base = "http://server"

// openAI and triton are questions in the two protocols.
func openAI() canary.Question {
	return canary.Question{Base: base, Model: "tiny-llama", Usage: true, Seed: true}
}

func triton() canary.Question {
	return canary.Question{Base: base, Model: "ensemble", Generate: true}
}

func (n *network) Secrets() *secret.Store { return &n.secrets }
