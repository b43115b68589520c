package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// TestPageThatLostAllSeriesIsNoPage uses a server whose page comes without anything that it counted, for example
// because the files of its counters were removed.
func TestPageThatLostAllSeriesIsNoPage(t *testing.T) {
	const bare = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7e9\n"
	for _, c := range []struct {
		name   string
		before func(now *answering)
		page   string
		reason string
	}{
		{name: "nothing is left but the start of its process", page: bare, reason: "empty"},
		{name: "one counter is left", page: bare + "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 7\n"},
		{
			name:   "it restarted",
			before: func(now *answering) { now.failed = failed(scrape.ReasonConnect) },
			page:   bare,
		},
		{
			name:   "a page came late",
			before: func(now *answering) { now.failed = failed(scrape.ReasonTimeout) },
			page:   bare,
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.page = wholePage
			s := step(t, now, nil)
			s.due()
			require.Empty(t, s.after(2*time.Second).LastReason)
			if c.before != nil {
				s.dueWith(c.before)
			}
			for range 3 {
				status := s.dueWith(func(now *answering) { now.page, now.failed = c.page, nil })
				require.Equal(t, c.reason, status.LastReason, status.LastError)
			}
			status := s.dueWith(func(now *answering) { now.page = wholePage })
			require.Empty(t, status.LastReason, "its series are back")
		}))
	}
}
