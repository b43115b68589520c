package replica

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// indexOfM is an index that names the model of the pages.
const indexOfM = `[{"name":"m","version":"1","state":"READY"}]`

func TestAlternatingProcessesHoldNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counters := func(n int, more string) string {
			return fmt.Sprintf(
				"nv_inference_request_success{model=\"m\"} %d\nnv_inference_count{model=\"m\"} %d\n"+
					"nv_inference_exec_count{model=\"m\"} %d\n%s",
				n, n, n, more,
			)
		}
		s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.IdentityInterval = time.Hour })
		waited, requests := 0, 0
		for n := range 40 {
			s.change(func(now *answering) {
				now.page, now.apiTakes = counters(1000+n, ""), 200*time.Millisecond
				if n%2 == 1 {
					now.page = counters(90000+n, "nv_inference_request_failure{model=\"m\"} 0\n")
				}
			})
			s.due()
			if s.after(0).Scrapes == uint64(n) {
				waited++
			}
			s.after(5 * time.Second)
			if n == 10 {
				requests = s.count("/v2")
			}
		}
		require.LessOrEqual(t, waited, 2, "the first page, and the first that fell")
		require.Equal(t, requests, s.count("/v2"))
		status := s.after(0)
		require.Equal(t, "look", status.Severity)
		require.Contains(t, status.StateReason, "2 processes answer at this address in turn")
		require.LessOrEqual(t, s.deriver.Stats().Restarts, uint64(1))
		s.shows("llm_server_processes{")
		require.NotContains(t, s.page(), "llm_server_requests_per_second{")
	})
}

// The restart ends before the next page, its first sign.
func TestNewProcessNeverHasOldVersion(t *testing.T) {
	const (
		many = "nv_inference_request_success{model=\"m\"} 100\nnv_inference_count{model=\"m\"} 200\n" +
			"nv_inference_exec_count{model=\"m\"} 300\n"
		other = "nv_inference_request_failure{model=\"m\"} 0\n"
	)
	lower := strings.NewReplacer("00\n", "\n")
	for _, c := range []struct {
		name, before, page string
		another            bool
	}{
		{"all counters fall", many, lower.Replace(many), true},
		{
			"the only counter falls", "nv_inference_count{model=\"m\"} 200\n", "nv_inference_count{model=\"m\"} 2\n",
			true,
		},
		{"counters decrease on a page of another shape", many, lower.Replace(many) + other, true},
		{"without the counters", many, "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 0\n", true},
		{"one of them falls", many, strings.Replace(many, "300", "3", 1), false},
		{"all grow", many, strings.ReplaceAll(many, "00\n", "01\n"), false},
		{"a counter is new", many, many + other, false},
		{
			"none counted anything before",
			lower.Replace(strings.NewReplacer("1", "0", "2", "0", "3", "0").Replace(many)), many, false,
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.page, now.api["/v2/repository/index"] = c.before, indexOfM
			s := step(t, now, func(_ *target.Target, p *Pool) { p.IdentityInterval = time.Hour })
			s.due()
			s.after(5 * time.Second)
			s.shows(`engine_version="2.51.0"`)
			s.change(func(now *answering) {
				now.page, now.apiTakes = c.page, 200*time.Millisecond
				now.api["/v2"] = `{"name":"triton","version":"2.60.0","extensions":["statistics"]}`
			})
			s.due()
			status := s.after(0)
			if !c.another {
				require.EqualValues(t, 2, status.Scrapes, "such a page waits for nothing")
				require.Equal(t, 1, s.count("/v2"))
				return
			}
			require.EqualValues(t, 1, status.Scrapes, "the page waits for the identity")
			status = s.after(time.Second)
			require.EqualValues(t, 2, status.Scrapes)
			require.Equal(t, target.HealthUp, status.Health)
			require.Equal(t, "2.60.0", status.EngineVersion)
			require.NotContains(t, s.page(), "2.51.0")
			require.Equal(t, 2, s.count("/v2"), "requested once")
		}))
	}
}

func TestCounterThatFallsForEverHoldsOnePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.apiTakes = never
		s := step(t, now, nil)
		for n := range 8 {
			s.change(func(now *answering) { now.page = fmt.Sprintf("nv_inference_count{model=\"m\"} %d\n", 100-n) })
			s.due()
			waits := s.after(0).Scrapes == uint64(n)
			require.Equal(t, n <= 1, waits, "page %d: a process does not fall twice in a window", n)
			require.EqualValues(t, n+1, s.after(5*time.Second).Scrapes)
		}
	})
}

func TestVersionExpiresAfterPossibleRestart(t *testing.T) {
	const counters = "nv_inference_request_success{model=\"m\"} %[1]d\nnv_inference_count{model=\"m\"} %[1]d\n" +
		"nv_inference_exec_count{model=\"m\"} %[1]d\n"
	for _, c := range []struct {
		name    string
		happens func(s *stepped)
		keeps   bool
	}{
		{"nothing happened", func(*stepped) {}, true},
		{"after a failed page", func(s *stepped) {
			s.change(func(now *answering) { now.failed = failed(scrape.ReasonHTTPStatus) })
			s.due()
			s.change(func(now *answering) { now.failed = nil })
		}, false},
		{"after a counter reset", func(s *stepped) {
			s.change(func(now *answering) { now.page = fmt.Sprintf(counters, 1) })
		}, false},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.page, now.api["/v2/repository/index"] = fmt.Sprintf(counters, 100), indexOfM
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
			const lifetime = 10 * 30 * time.Second // The number of rounds for which facts are kept.
			pages(lifetime - 10*time.Second)
			s.shows(`nv_inference_count{engine="triton",engine_version="2.51.0"`)
			pages(2 * time.Minute)
			version := map[bool]string{true: "2.51.0", false: "unknown"}[c.keeps]
			s.shows(`nv_inference_count{engine="triton",engine_version="` + version + `"`)
		}))
	}
}

func TestIdentityIsRequestedOncePerInterval(t *testing.T) {
	for _, c := range []struct {
		identity time.Duration
		rounds   int
	}{
		{5 * time.Second, 61},
		// This server leaves requests unanswered, so that the first rounds are repeated sooner.
		{30 * time.Second, 13},
		{time.Hour, 1},
	} {
		t.Run(c.identity.String(), bubble(func(t *testing.T) {
			s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.IdentityInterval = c.identity })
			for range 60 {
				s.due()
				s.after(5 * time.Second)
			}
			s.due()
			require.Equal(t, c.rounds, s.count("/v2"))
			require.Equal(t, 61, s.count("/v2/health/ready"), "health is asked for with every page")
		}))
	}
}

func TestRestartedServerIsIdentifiedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counters := func(n int) string {
			return fmt.Sprintf(
				"nv_inference_request_success{model=\"m\"} %d\nnv_inference_count{model=\"m\"} %d\n"+
					"nv_inference_exec_count{model=\"m\"} %d\n",
				n, n, n,
			)
		}
		now := tritonAnswers()
		now.page, now.api["/v2/repository/index"] = counters(100), indexOfM
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
