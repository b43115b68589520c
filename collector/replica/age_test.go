package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Nothing is due in these tests, as when the process is stopped.
func TestAPageThatIsTooOldIsNotShown(t *testing.T) {
	t.Parallel()
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
		require.Empty(t, s.page(), "neither its series nor that it is up")
		require.Nil(t, s.slot.Derived())

		s.due()
		require.Equal(t, target.HealthUp, s.after(0).Health, "the next scrape heals it")
		s.shows(`nv_inference_request_success{engine="triton"`)
	})
}

func TestThatATargetIsDownNeverGetsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.failed = failed(scrape.ReasonConnect)
		s := step(t, now, nil)
		s.due()
		require.Equal(t, "connect", s.after(time.Hour).LastReason)
		s.shows(`trtllm_exporter_target_up{pool_id="llama-70b-prod",replica_id="r0"} 0`)
	})
}
