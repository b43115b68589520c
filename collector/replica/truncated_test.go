package replica

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// wholePage is a page of two models, cutPage the page truncated.
const (
	cutPage = `# TYPE nv_inference_request_success counter
nv_inference_request_success{model="a",version="1"} 5
nv_inference_request_success{model="b",version="1"} 5
# TYPE nv_inference_count counter
nv_inference_count{model="a",version="1"} 5
`
	wholePage = cutPage + `nv_inference_count{model="b",version="1"} 5
# TYPE nv_energy_consumption counter
nv_energy_consumption{gpu_uuid="GPU-1"} 7
`
)

// dueWith changes the server's responses and scrapes once.
func (s *stepped) dueWith(how func(*answering)) target.Status {
	s.read()
	s.change(how)
	s.due()
	return s.after(time.Second)
}

func TestPossiblyTruncatedPageIsRefused(t *testing.T) {
	unloaded := strings.NewReplacer(
		"nv_inference_request_success{model=\"b\",version=\"1\"} 5\n", "",
		"nv_inference_count{model=\"b\",version=\"1\"} 5\n", "",
	).Replace(wholePage)
	for _, c := range []struct {
		name     string
		page     string
		framed   bool
		refusing bool
		reason   string
	}{
		{name: "the beginning of the page before", page: cutPage, reason: "truncated"},
		{
			name:   "its beginning with other values",
			page:   strings.ReplaceAll(cutPage, "} 5", "} 123"),
			reason: "truncated",
		},
		{name: "its beginning, framed", page: cutPage, framed: true},
		{name: "its beginning, after refused connections", page: cutPage, refusing: true},
		{name: "a model unloaded", page: unloaded},
		{
			name: "a restarted process with the same TYPE lines",
			page: cutPage + "# TYPE nv_energy_consumption counter\n# TYPE x counter\n",
		},
		{name: "the same page", page: wholePage},
		{name: "a longer page", page: wholePage + "nv_energy_consumption{gpu_uuid=\"GPU-2\"} 7\n"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.page, now.unframed = wholePage, true
			s := step(t, now, nil)
			s.due()
			require.Equal(t, target.HealthUp, s.after(2*time.Second).Health)
			if c.refusing {
				s.dueWith(func(now *answering) { now.failed = failed(scrape.ReasonConnect) })
			}
			status := s.dueWith(func(now *answering) { now.page, now.unframed, now.failed = c.page, !c.framed, nil })
			require.Equal(t, c.reason, status.LastReason, status.LastError)
			if c.reason != "" {
				require.Equal(
					t,
					"truncated: the page ends after the first 3 samples of the previous page and has no "+
						"Content-Length, so it may be truncated; make the server send Content-Length or chunks",
					status.LastError,
				)
				require.NotContains(t, s.page(), "nv_inference_count{")
			}
			status = s.dueWith(func(now *answering) { now.page, now.unframed = wholePage, true })
			require.Equal(t, target.HealthUp, status.Health, "a whole page heals it")
		}))
	}
}

func TestPageWithStableEndIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.page, now.unframed = wholePage, true
		s := step(t, now, nil)
		s.due()
		require.Equal(t, target.HealthUp, s.after(2*time.Second).Health)
		shorter := strings.Join(strings.SplitAfter(cutPage, "\n")[:3], "")
		for range 3 {
			require.Equal(t, "truncated", s.dueWith(func(now *answering) { now.page = cutPage }).LastReason)
			require.Equal(t, "truncated", s.dueWith(func(now *answering) { now.page = shorter }).LastReason)
		}
		s.read()
		s.change(func(now *answering) { now.page = cutPage })
		for range 5 {
			s.due()
			require.Equal(t, "truncated", s.after(time.Second).LastReason)
		}
		for range 3 {
			s.due()
			require.Equal(t, target.HealthUp, s.after(time.Second).Health)
		}
	})
}
