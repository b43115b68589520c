//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// sglangLeft compares outcomes with clients that stay, disconnect, wait, or send invalid requests.
func (s *engineServer) sglangLeft(t *testing.T) {
	t.Helper()
	l := watchLife(t, s)
	l.serves(t)
	s.startCrowd(t, slots, arrival{words: 10, tokens: 20}).requireComplete(t) // The first requests compile.
	pause(t.Context(), 4*engineInterval)
	before := l.page(t)
	grown := func(name string, want int, pairs ...string) {
		t.Helper()
		l.shows(t, before.sum(name, pairs...)+float64(want), name, pairs...)
	}

	const ended, wrong, longest = 5, 2, 3000
	s.startCrowd(t, ended, arrival{words: 20, tokens: 40}).requireComplete(t)
	streams := s.startCrowd(t, slots/2, arrival{words: 20, tokens: longest})
	others := s.unstreamed(t, slots/2, longest)
	l.shows(t, slots, "llm_server_requests_running")
	queued := s.unstreamed(t, 3, 40)
	l.shows(t, 3, "llm_server_queue_depth")
	queued.stop()
	grown("llm_server_requests_total", 3, "class", "canceled")
	others.stop()
	streams.stop()
	for _, one := range s.startCrowd(t, wrong, arrival{words: 20, tokens: 40, flaw: negative}).wait() {
		require.Equal(t, http.StatusBadRequest, one.status)
	}
	queued.wait()
	others.wait()
	streams.wait()

	grown("llm_server_requests_total", 3+slots, "class", "canceled")
	grown("llm_server_requests_total", ended, "class", "ok")
	grown("llm_server_requests_total", wrong, "class", "client")
	grown("llm_server_requests_failed_total", wrong, "reason", "http_400")
	l.shows(t, 0, "llm_server_queue_depth")
}

func (s *engineServer) unstreamed(t *testing.T, n, tokens int) *crowd[struct{}] {
	t.Helper()
	return startCrowd(t, n, func(ctx context.Context, number int) (none struct{}, err error) {
		body := fmt.Sprintf(
			`{"model":%q,"prompt":"left %d","max_tokens":%d,"ignore_eos":true}`,
			engineModel,
			number,
			tokens,
		)
		response, err := postJSON(ctx, s.url("/v1/completions"), body)
		if err != nil {
			return none, err // Its client disconnected.
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return none, err
	})
}
