package collector_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// iterating is pool p of one server whose iterations are read, which lives by the
// clock of a bubble of synctest and is asked without a network.
func iterating(t *testing.T) *scene {
	t.Helper()
	r, err := simulate.NewReplica(simulate.Spec{
		Kind: simulate.KindServe, Name: "subject", Seed: 1,
		Workload: simulate.Workload{Rate: 4, PromptTokens: 60, OutputTokens: 40},
	})
	require.NoError(t, err)
	t.Cleanup(clocked(r))
	p := pool("p", "subject=serve:8000|serve:8000")
	p.Engine, p.IterationStats = "trtllm-serve", true
	s := &scene{line: led(t, inMemory(r), p), subject: r}
	s.comes("subject", "ready", "")
	s.until("iterations", func() bool { return s.number("llm_server_iteration_stats_read_total") > 0 })
	return s
}

// clocked lets a replica without ports live by the clock until stop is called.
func clocked(r *simulate.Replica) (stop func()) {
	const step = 5 * time.Millisecond
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(step)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.Advance(step)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// inMemory asks a replica that has no ports.
func inMemory(r *simulate.Replica) *puppet {
	return &puppet{
		page: func(page string) (string, error) {
			u, err := url.Parse(page)
			if err != nil {
				return "", err
			}
			status, text, err := askInMemory(r, u)
			if err == nil && status != http.StatusOK {
				err = errors.New(http.StatusText(status))
			}
			if err != nil {
				return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: err}
			}
			return text, nil
		},
		api: func(_ context.Context, u *url.URL) (int, string, error) { return askInMemory(r, u) },
	}
}

// askInMemory is the answer of a replica; one that does not run hangs up.
func askInMemory(r *simulate.Replica, u *url.URL) (status int, text string, err error) {
	defer func() {
		switch why := recover(); why {
		case nil:
		case http.ErrAbortHandler:
			err = errRefused
		default:
			panic(why)
		}
	}()
	w := httptest.NewRecorder()
	r.APIHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, u.String(), http.NoBody))
	return w.Code, w.Body.String(), nil
}

// number is the value of the one series of that name, -1 for none.
func (s *scene) number(name string) float64 {
	text := s.value(name)
	if text == "" {
		return -1
	}
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(s.t, err)
	return v
}

// rest ends the load and waits until all that happened has been read.
func (s *scene) rest() simulate.Truth {
	s.t.Helper()
	s.subject.SetRate(0)
	s.until("an idle server", func() bool { return s.subject.Truth().InFlight == 0 })
	// The page may be of a reading before the last iterations: only what stays
	// over several scrapes, and as many readings, is all.
	const enough = 5
	read, scrapes := -1.0, uint64(0)
	s.until("all iterations read", func() bool {
		now, n := s.status().Scrapes, s.number("llm_server_iteration_stats_read_total")
		if n != read || s.value("llm_server_iteration_stats_queued_requests") != "" {
			read, scrapes = n, now
		}
		return now >= scrapes+enough
	})
	return s.subject.Truth()
}

func TestIterationsAreReadOnlyWhereTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	s := play(t, simulate.Spec{Kind: simulate.KindServe}, nil)
	s.turns("ready")
	requireNoText(t, s.of("subject", s.page()), "llm_server_iteration_stats_")
	s.until("rows for another reader", func() bool {
		return len(s.take()) > len("[]")
	})
}

// take reads the statistics as another reader.
func (s *scene) take() string {
	s.t.Helper()
	status, text, err := askInMemory(s.subject, &url.URL{Path: "/metrics"})
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status)
	return text
}

func TestIterationsAddUpToWhatTheServerDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := iterating(t)
		before := s.rest()
		read, tokens := s.number("llm_server_iteration_stats_read_total"), s.number("llm_server_iteration_stats_generation_tokens_estimated_total")
		completed := s.number("llm_server_iteration_stats_completed_requests_total")

		s.subject.SetRate(4)
		s.until("a queue or none, of the newest iteration", func() bool { return s.number("llm_server_iteration_stats_queued_requests") >= 0 })
		s.until("twenty requests", func() bool { return s.subject.Truth().Finished >= before.Finished+20 })
		after := s.rest()

		require.Zero(t, s.number("llm_server_iteration_stats_gaps_total"))
		require.Zero(t, s.number("llm_server_iteration_stats_foreign_reader"))
		require.Zero(t, s.number("llm_server_iteration_stats_failures_total"))
		require.Equal(t, float64(after.Iterations-before.Iterations), s.number("llm_server_iteration_stats_read_total")-read)
		require.Equal(t, float64(after.Finished-before.Finished), s.number("llm_server_iteration_stats_completed_requests_total")-completed)
		truth := float64(after.GeneratedTokensSoFar - before.GeneratedTokensSoFar)
		require.InEpsilon(t, truth, s.number("llm_server_iteration_stats_generation_tokens_estimated_total")-tokens, 0.01)
		require.Equal(t, -1.0, s.number("llm_server_iteration_stats_active_requests"), "no iteration is new")
	})
}
