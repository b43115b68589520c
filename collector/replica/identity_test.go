package replica

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestIdentityIsAskedForOnceAnInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		identity time.Duration
		rounds   int
	}{{5 * time.Second, 61}, {30 * time.Second, 11}, {time.Hour, 1}} {
		t.Run(c.identity.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.IdentityInterval = c.identity })
				for range 60 {
					s.due()
					s.after(5 * time.Second)
				}
				s.due()
				require.Equal(t, c.rounds, s.count("/v2"))
				require.Equal(t, 61, s.count("/v2/health/ready"), "health is asked for with every page")
			})
		})
	}
}

func TestAServerThatStartedAgainIsAskedWhoItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counters := func(n int) string {
			return fmt.Sprintf("nv_inference_request_success{model=\"m\"} %d\nnv_inference_count{model=\"m\"} %d\nnv_inference_exec_count{model=\"m\"} %d\n", n, n, n)
		}
		now := tritonAnswers()
		now.page = counters(100)
		s := step(t, now, func(_ *target.Target, p *Pool) { p.IdentityInterval = time.Hour })
		s.due()
		for range 5 {
			s.after(5 * time.Second)
			s.due()
		}
		require.Equal(t, 1, s.count("/v2"))
		s.change(func(now *answering) {
			now.page = counters(3)
			now.api["/v2"] = `{"name":"triton","version":"2.60.0","extensions":["statistics"]}`
		})
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, 2, s.count("/v2"))
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, 2, s.count("/v2"), "once for each start")
		s.shows(`nv_inference_count{engine="triton",engine_version="2.60.0"`)
		require.NotContains(t, s.page(), "2.51.0")
	})
}

func TestAServerThatMayBeAnotherKeepsItsVersionForAWhileOnly(t *testing.T) {
	t.Parallel()
	const counters = "nv_inference_request_success{model=\"m\"} %[1]d\nnv_inference_count{model=\"m\"} %[1]d\nnv_inference_exec_count{model=\"m\"} %[1]d\n"
	for _, c := range []struct {
		says    string
		happens func(s *stepped)
		keeps   bool
	}{
		{"nothing happened", func(*stepped) {}, true},
		{"its page was gone", func(s *stepped) {
			s.change(func(now *answering) { now.failed = failed(scrape.ReasonHTTPStatus) })
			s.due()
			s.change(func(now *answering) { now.failed = nil })
		}, false},
		{"its counters began again", func(s *stepped) {
			s.change(func(now *answering) { now.page = fmt.Sprintf(counters, 1) })
		}, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now := tritonAnswers()
				now.page = fmt.Sprintf(counters, 100)
				s := step(t, now, nil)
				pages := func(during time.Duration) {
					for end := time.Now().Add(during); time.Now().Before(end); s.due() {
						s.after(5 * time.Second)
					}
				}
				s.due()
				pages(time.Minute)
				s.change(func(now *answering) { now.api = nil })
				c.happens(s)
				const kept = 10 * 30 * time.Second // As many rounds as facts are kept for.
				pages(kept - 10*time.Second)
				s.shows(`nv_inference_count{engine="triton",engine_version="2.51.0"`)
				pages(2 * time.Minute)
				version := map[bool]string{true: "2.51.0", false: "unknown"}[c.keeps]
				s.shows(`nv_inference_count{engine="triton",engine_version="` + version + `"`)
			})
		})
	}
}
