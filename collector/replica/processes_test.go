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

// pageOf returns a page of a process that has counted n requests.
func pageOf(n int) string {
	return fmt.Sprintf("nv_inference_request_success{model=\"m\"} %d\nnv_inference_count{model=\"m\"} %d\n", n, n)
}

// during scrapes ten times every five seconds, after each has changed the answers.
func (s *stepped) during(each func(n int, now *answering)) {
	for n := range 10 {
		s.change(func(now *answering) { each(n, now) })
		s.due()
		s.after(5 * time.Second)
	}
}

func TestOtherProcessesAreFoundOverOtherConnections(t *testing.T) {
	for _, c := range []struct {
		name string
		// another returns the page of others at the nth scrape, when the open one has 1000+10n.
		another func(n int) string
		// derived is true if series are derived, shown is the number of processes.
		derived bool
		shown   string
		after   func(now *answering)
	}{
		{"the same process", func(n int) string { return pageOf(1001 + 10*n) }, true, "", nil},
		{"the same process has not counted more", func(n int) string { return pageOf(1000 + 10*n) }, true, "", nil},
		{"one that has counted less", func(n int) string { return pageOf(990 + 10*n) }, false, "2", nil},
		{"one that has counted more", func(n int) string { return pageOf(1011 + 10*n) }, false, "2", nil},
		{
			"one with a series more",
			func(n int) string { return pageOf(990+10*n) + "nv_inference_exec_count{model=\"m\"} 3\n" }, false, "2",
			nil,
		},
		{"an empty page", func(int) string { return "\n" }, true, "", nil},
		{"no page", func(int) string { return "<html>" }, true, "", nil},
		{"nobody", func(int) string { return "" }, true, "", nil},
		{
			"one that answers too late", func(n int) string { return pageOf(10 * n) }, true, "",
			func(now *answering) { now.anotherTakes = never },
		},
		{
			"one that has counted less answers during the next scrape",
			func(n int) string { return pageOf(990 + 10*n) }, false, "2",
			func(now *answering) { now.anotherTakes = 3 * time.Second; now.pageTakes = 3500 * time.Millisecond },
		},
		{
			"one that has counted more answers before the end of the next scrape",
			func(n int) string { return pageOf(1100 + 10*n) }, false, "2",
			func(now *answering) { now.anotherTakes = 3500 * time.Millisecond; now.pageTakes = 3 * time.Second },
		},
		{
			"the same process answers during the next scrape", func(n int) string { return pageOf(1000 + 10*n) }, true, "",
			func(now *answering) { now.anotherTakes = 3 * time.Second; now.pageTakes = 3500 * time.Millisecond },
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.api["/v2/repository/index"] = indexOfM
			if c.after != nil {
				c.after(&now)
			}
			s := step(t, now, nil)
			s.during(func(n int, now *answering) {
				now.page, now.another, now.kept = pageOf(1000+10*n), c.another(n), n > 0
			})
			page := s.page()
			require.Equal(t, c.derived, strings.Contains(page, "llm_server_requests_total{"), "is anything derived?")
			require.Contains(t, page, "nv_inference_count{", "the server's own series pass")
			require.Equal(t, c.shown != "", strings.Contains(page, "llm_server_processes{"), "are there several?")
			if c.shown != "" {
				require.Contains(t, s.after(0).StateReason, c.shown+" processes answer at this address")
			}
			s.read()
			require.EqualValues(t, 10, s.slot.Status().Scrapes)
			require.Zero(t, s.slot.Status().Failures, "what other connections show is no scrape")
		}))
	}
}

// TestOverlappingRequests has a request over another connection that waits for a start, begins while the page
// is on its way, and ends after it.
func TestOverlappingRequests(t *testing.T) {
	for _, c := range []struct {
		name    string
		another int
		derived bool
	}{
		{"a count from before shows nothing", 1020, true},
		{"a count from long before is of another process", 1009, false},
		{"a count from long after is of another process", 2000, false},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			starts := scrape.NewStarts(1)
			limit := func(_ *target.Target, p *Pool) { p.Starts = starts }
			slow, now := tritonAnswers(), tritonAnswers()
			slow.pageTakes, now.another = never, now.page
			now.api["/v2/repository/index"] = indexOfM
			hangs, s := step(t, slow, limit), step(t, now, limit)
			scrapes := func(count int, how func(now *answering)) {
				s.change(func(now *answering) {
					now.page, now.another, now.kept = pageOf(count), pageOf(count), count > 1000
					how(now)
				})
				s.due()
			}
			scrapes(1000, func(*answering) {})
			s.after(5 * time.Second)
			hangs.due()
			scrapes(1010, func(*answering) {})
			before := s.freshPages()
			scrapes(1030, func(now *answering) {
				now.another = pageOf(c.another)
				now.pageTakes, now.anotherTakes = time.Second, 2*time.Second
			})
			s.after(5 * time.Second)
			require.Greater(t, s.freshPages(), before, "pages over other connections")
			s.shows("llm_server_requests_total{")
			for count := 1040; count < 1070; count += 10 {
				scrapes(count, func(now *answering) { now.pageTakes, now.anotherTakes = 0, 0 })
				if c.derived {
					s.shows("llm_server_requests_total{")
				} else {
					require.NotContains(t, s.page(), "llm_server_requests_total{")
				}
				s.after(5 * time.Second)
			}
		}))
	}
}

func TestFewPagesAreRequestedOverOtherConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		for n := range 100 {
			s.change(func(now *answering) {
				now.page, now.another, now.kept = pageOf(1000+10*n), pageOf(1000+10*n), n > 0
			})
			s.due()
			s.after(5 * time.Second)
		}
		require.LessOrEqual(t, s.freshPages(), 8+8*2+100/20*2)
		require.Greater(t, s.freshPages(), 10)
	})
}

func TestNoConnectionStaysOpenForPageOfLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		next := func(err error) (first int) {
			s.change(func(now *answering) { now.failed = err })
			before := s.first
			s.due()
			s.after(5 * time.Second)
			return s.first - before
		}
		require.Equal(t, 1, next(failed(scrape.ReasonConnect)), "nobody listens")
		require.Equal(t, 1, next(failed(scrape.ReasonHTTPStatus)), "no page was seen yet")
		require.Equal(t, 1, next(nil), "the first page")
		require.Equal(t, 0, next(nil), "a lane has a connection, or net/http keeps the one that this opens")
		require.Equal(t, 0, next(failed(scrape.ReasonHTTPStatus)), "the connection stays open")
		require.Equal(t, 0, next(failed(scrape.ReasonConnect)), "it was open until now")
		require.Equal(t, 1, next(nil), "the server is back")
	})
}

func TestRestartIsNoOtherProcess(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart func(now *answering)
	}{
		{"its connection was lost", func(now *answering) { now.kept = false }},
		{"nobody listened in the meantime", func(now *answering) { now.failed = failed(scrape.ReasonConnect) }},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.api["/v2/repository/index"] = indexOfM
			s := step(t, now, nil)
			for life := range 4 {
				s.during(func(n int, now *answering) {
					now.page, now.kept, now.failed = pageOf(10*n+life), n > 1, nil
					if now.another = now.page; n == 0 && life > 0 {
						c.restart(now)
					}
				})
				require.Contains(t, s.page(), "llm_server_requests_per_second{")
			}
			require.NotContains(t, s.page(), "llm_server_processes{")
			require.EqualValues(t, 3, s.deriver.Stats().Restarts)
		}))
	}
}
