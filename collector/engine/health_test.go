package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestModelsThatAreNotReadyAreNamed(t *testing.T) {
	for _, c := range []struct{ says, index, want string }{
		{"all are ready", `[{"name":"a","version":"1","state":"READY"}]`, "the API answers 200"},
		{"one was never loaded", `[{"name":"a","version":"1","state":"READY"},{"name":"b"}]`, "the API answers 200"},
		{"an older version gave way", `[{"name":"a","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"a","version":"2","state":"READY"}]`, "the API answers 200"},
		{
			"the model and the ensemble over it are going", // Triton 2.51, while tensorrt_llm unloads.
			`[{"name":"ensemble","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"preprocessing","version":"1","state":"READY"},{"name":"tensorrt_llm","version":"1","state":"UNLOADING"}]`,
			"the API answers 200; not loaded: ensemble (unloaded), tensorrt_llm (unloading)",
		},
		{
			"more than a line can hold",
			`[{"name":"a","state":"LOADING","version":"1"},{"name":"b","state":"LOADING","version":"1"},{"name":"c","state":"LOADING","version":"1"},{"name":"d","state":"LOADING","version":"1"},{"name":"e","state":"LOADING","version":"1"},{"name":"f","state":"LOADING","version":"1"}]`,
			"the API answers 200; not loaded: a (loading), b (loading), c (loading), d (loading) and 2 more",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of(string(engine.Triton))
			require.True(t, ok)
			server := answers{"/v2/health/ready": "", "/v2/health/live": "", "/v2/repository/index": c.index}
			require.Equal(t, c.want, e.Health(t.Context(), server, "http://server").Detail)
		})
	}
}

// failing is a server of which every question fails alike.
type failing struct{ err error }

// Do implements engine.Asker.
func (f failing) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	return 0, nil, nil, f.err
}

func TestAnAPIThatHangsUpIsAsGoodAsOneThatRefuses(t *testing.T) {
	for _, c := range []struct {
		says   string
		err    error
		want   engine.APIState
		detail string
	}{
		{"nothing listens", syscall.ECONNREFUSED, engine.APIRefused, "the API refuses connections"},
		// Triton 2.51, told to end while streams are in flight.
		{"it ends the connection", io.EOF, engine.APIRefused, "the API hangs up on those who connect"},
		{"it resets the connection", syscall.ECONNRESET, engine.APIRefused, "the API hangs up on those who connect"},
		{"it ends the connection before the question", errors.New("http: server closed idle connection"), engine.APIRefused, "the API hangs up on those who connect"},
		{"it does not answer in time", context.DeadlineExceeded, engine.APIFailed, "the API does not answer"},
		{"it speaks something else", errors.New("malformed HTTP response"), engine.APIFailed, "the API does not answer"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of(string(engine.Triton))
			require.True(t, ok)
			h := e.Health(t.Context(), failing{fmt.Errorf("scrape: %w", c.err)}, "http://server")
			require.Equal(t, c.want, h.API)
			require.True(t, strings.HasPrefix(h.Detail, c.detail), h.Detail)
			require.False(t, h.LiveKnown)
		})
	}
}

// ending is a Triton that says it is no longer live.
type ending struct{ asked []string }

// Do implements engine.Asker.
func (e *ending) Do(_ context.Context, _, url string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	e.asked = append(e.asked, url)
	return http.StatusBadRequest, http.Header{}, nil, nil
}

func TestAServerThatIsNotLiveIsNotAskedForItsModels(t *testing.T) {
	// The index of Triton 2.36 does not answer while it ends.
	e, ok := engine.Of(string(engine.Triton))
	require.True(t, ok)
	server := &ending{}
	h := e.Health(t.Context(), server, "http://server")
	require.Equal(t, engine.APINotReady, h.API)
	require.True(t, h.LiveKnown)
	require.False(t, h.Live)
	require.Equal(t, []string{"http://server/v2/health/ready", "http://server/v2/health/live"}, server.asked)
}
