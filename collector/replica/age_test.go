package replica

import (
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// No work runs in these tests, as in a stopped process.
func TestOldPageIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, target.HealthUp, s.after(15*time.Second).Health)
		s.shows("trtllm_exporter_target_up{")
		s.shows(`nv_inference_request_success{engine="triton"`)

		status := s.after(15 * time.Second)
		require.Equal(t, target.HealthDown, status.Health)
		require.Equal(t, "timeout", status.LastReason)
		require.Empty(t, s.page(), "no series, and not up")
		require.Nil(t, s.slot.Derived())

		s.due()
		require.Equal(t, target.HealthUp, s.after(0).Health, "the next scrape heals it")
		s.shows(`nv_inference_request_success{engine="triton"`)
	})
}

// While the machine sleeps, the process clock stands still and the server continues: no old page
// is shown, and no rate includes the whole growth.
func TestC04NothingOldAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := 0
		served := func(d time.Duration) func(now *answering) {
			return func(now *answering) {
				count += 100 * int(d/time.Second)
				now.page = fmt.Sprintf("nv_inference_request_success{model=\"tensorrt_llm\",version=\"1\"} %d\n", count)
			}
		}
		s := step(t, tritonAnswers(), nil)
		rates := 0
		scraped := func(d time.Duration) {
			s.change(served(d))
			s.due()
			rate := regexp.MustCompile(`(?m)^llm_server_requests_per_second{.*} (.*)$`)
			for _, m := range rate.FindAllStringSubmatch(s.page(), -1) {
				require.Equal(t, "100", m[1], "at %d", count)
				rates++
			}
			s.after(d)
		}
		for range 5 {
			scraped(5 * time.Second)
		}
		require.Positive(t, rates)
		s.change(served(30 * time.Second))
		s.server.mu.Lock()
		s.slept += 30 * time.Second
		s.server.mu.Unlock()
		require.Equal(t, target.HealthDown, s.after(0).Health)
		require.Empty(t, s.page())

		rates = 0
		for range 15 {
			scraped(5 * time.Second)
			s.shows(fmt.Sprintf(` %d`, count))
		}
		require.Positive(t, rates, "they are back")
	})
}

func TestTargetDownNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.failed = failed(scrape.ReasonConnect)
		s := step(t, now, nil)
		s.due()
		require.Equal(t, "connect", s.after(time.Hour).LastReason)
		s.shows(`trtllm_exporter_target_up{pool_id="llama-70b-prod",replica_id="r0"} 0`)
	})
}
