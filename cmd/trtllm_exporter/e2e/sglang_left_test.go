//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClientsThatLeaveAnSGLang compares what became of requests with what their
// clients did: some came to their end, some were left while they ran, some while they
// waited, and some were wrong.
func TestClientsThatLeaveAnSGLang(t *testing.T) {
	s := newEngine(t, "sglang")
	s.start(t)
	l := watchLife(t, s, "")
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
	s.startCrowd(t, slots, arrival{words: 10, tokens: 20}).whole(t) // The first requests compile.
	pause(t.Context(), 4*engineInterval)
	before := l.page(t)
	grown := func(name string, want int, pairs ...string) {
		t.Helper()
		l.shows(t, before.sum(name, pairs...)+float64(want), name, pairs...)
	}

	const ended, wrong, longest = 5, 2, 3000
	s.startCrowd(t, ended, arrival{words: 20, tokens: 40}).whole(t)
	streams := s.startCrowd(t, slots/2, arrival{words: 20, tokens: longest})
	others, leaveOthers := s.unstreamed(t, slots/2, longest)
	l.shows(t, slots, "llm_server_requests_running")
	queued, leaveQueued := s.unstreamed(t, 3, 40)
	l.shows(t, 3, "llm_server_queue_depth")
	leaveQueued()
	grown("llm_server_requests_total", 3, "class", "canceled")
	leaveOthers()
	streams.stop()
	for _, one := range s.startCrowd(t, wrong, arrival{words: 20, tokens: 40, flaw: negative}).wait() {
		require.Equal(t, http.StatusBadRequest, one.status)
	}
	<-queued
	<-others
	streams.wait()

	grown("llm_server_requests_total", 3+slots, "class", "canceled")
	grown("llm_server_requests_total", ended, "class", "ok")
	grown("llm_server_requests_total", wrong, "class", "client")
	grown("llm_server_requests_failed_total", wrong, "reason", "http_400")
	l.shows(t, 0, "llm_server_queue_depth")
}

// unstreamed begins n requests for answers in one piece, and gives what is closed when all
// are gone and what makes their clients leave.
func (s *engineServer) unstreamed(t *testing.T, n, tokens int) (gone <-chan struct{}, leave context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done, one := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			defer func() { one <- struct{}{} }()
			body := fmt.Sprintf(`{"model":%q,"prompt":"left %d","max_tokens":%d,"ignore_eos":true}`, engineModel, i, tokens)
			response, err := postJSON(ctx, "http://"+s.address()+"/v1/completions", body)
			if err != nil {
				return // Its client left.
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}()
	}
	go func() {
		defer close(done)
		for range n {
			<-one
		}
	}()
	return done, cancel
}
