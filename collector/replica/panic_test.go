package replica

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// bomb is a log handler that panics, but for errors.
type bomb struct{ slog.Handler }

// Enabled implements slog.Handler.
func (bomb) Enabled(_ context.Context, level slog.Level) bool { return level < slog.LevelError }

// Handle implements slog.Handler.
func (bomb) Handle(context.Context, slog.Record) error { panic("a log that nobody thought of") }

// A panic on the way of a page fails one scrape of one replica, wherever it is.
func TestPanicFailsOneScrape(t *testing.T) {
	relabels := exposition.Labeler(func(labels.Labels) exposition.Labeled { panic("a rule that nobody thought of") })
	for _, c := range []struct {
		name string
		// breaks makes the next page panic, mends what does not mend itself.
		breaks, mends func(s *stepped)
	}{
		{"while it is fetched", func(s *stepped) {
			s.change(func(now *answering) { now.bug = "a page that nobody thought of" })
		}, func(s *stepped) {
			s.change(func(now *answering) { now.bug = "" })
		}},
		{"while it is parsed", func(s *stepped) { s.reader.cache = nil }, nil},
		{"while it is relabeled", func(s *stepped) {
			s.reader.label = &relabels
			s.change(func(now *answering) { now.page += "nv_new 1\n" })
		}, nil},
		{"while its process is determined", func(s *stepped) { s.deriver = nil }, nil},
		{"while series are derived", func(s *stepped) { s.deriver.Rename(derive.Naming{}) }, nil},
		{"while the replica is assessed", func(s *stepped) {
			s.pool.Canary.Enabled, s.reader.identity.Topology = true, nil
		}, func(s *stepped) { s.pool.Canary.Enabled = false }},
		{"while the verdict is logged", func(s *stepped) {
			s.log = slog.New(bomb{})
			s.status.State = ""
		}, func(s *stepped) { s.log = slog.New(slog.DiscardHandler) }},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			panics := 0
			counted := func(_ *target.Target, p *Pool) { p.Panicked = func() { panics++ } }
			s, other := step(t, tritonAnswers(), counted), step(t, tritonAnswers(), counted)
			for _, r := range []*stepped{s, other} {
				r.due()
				require.Equal(t, target.HealthUp, r.after(0).Health)
			}
			healthy, neighbour := s.page(), other.page()

			s.update(func() { c.breaks(s) })
			s.after(5 * time.Second)
			s.due()
			status := s.after(0)
			require.Positive(t, panics)
			require.Equal(t, target.HealthDown, status.Health)
			require.Equal(t, string(scrape.ReasonPanic), status.LastReason, status.LastError)
			require.EqualValues(t, 2, status.Scrapes)
			require.EqualValues(t, 1, status.Failures)
			require.NotContains(t, s.page(), "nv_inference_request_success{", "the page is lost")
			s.shows("llm_server_state{")
			s.shows(
				`trtllm_exporter_target_scrape_failures_total{pool_id="llama-70b-prod",` +
					`reason="panic",replica_id="r0"} 1`,
			)

			s.update(func() {
				if c.mends != nil {
					c.mends(s)
				}
			})
			s.change(func(now *answering) { now.page = tritonAnswers().page })
			s.after(5 * time.Second)
			s.due()
			status = s.after(0)
			require.Equal(t, target.HealthUp, status.Health, status.LastError)
			require.Equal(t, rawSeries(healthy), rawSeries(s.page()))

			other.due()
			require.Equal(t, target.HealthUp, other.after(0).Health)
			require.Equal(t, rawSeries(neighbour), rawSeries(other.page()))
		}))
	}
}

// rawSeries returns the server's own series of a page.
func rawSeries(page string) string {
	var own strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "nv_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

// A page that waits for an answer whose use panics is published all the same.
func TestPanicOfAnswerHoldsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.update(func() {
			runJob(s.startJob(s.ctx, &s.jobs.identity), "identity", func(context.Context) int {
				time.Sleep(100 * time.Millisecond)
				return 0
			}, func(int, error) { panic("an answer that nobody thought of") })
		})
		s.due()
		require.Zero(t, s.after(99*time.Millisecond).Scrapes, "the page waits for the identity")
		status := s.after(time.Millisecond)
		require.EqualValues(t, 1, status.Scrapes)
		require.Equal(t, target.HealthUp, status.Health)
		require.Equal(t, "unknown", status.EngineVersion)
		s.after(time.Minute)
		s.due()
		s.due()
		require.Equal(t, "2.51.0", s.after(0).EngineVersion, "the server is asked again")
	})
}
