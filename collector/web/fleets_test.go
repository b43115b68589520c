package web_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// verdict returns a status as the collector publishes it.
func verdict(state, severity, runbook, reason string) target.Status {
	now := time.Now()
	return target.Status{
		Scraping: target.Scraping{
			Health:       target.HealthUp,
			LastScrape:   now,
			LastSuccess:  now,
			LastDuration: 12 * time.Millisecond,
			Scrapes:      3,
		},
		Assessment: target.Assessment{
			State:       state,
			Severity:    severity,
			Runbook:     runbook,
			StateReason: reason,
			StateSince:  now.Add(-3 * time.Minute),
			Judged:      true,
			ProbeReady:  state == "ready" || state == "blind",
			ProbeLive:   state != "stalled",
		},
		Server: target.Server{
			DetectedEngine: "triton",
			EngineVersion:  "2.64.0",
			TRTLLMVersion:  "1.1.0",
			VersionSource:  "compatibility_table",
		},
	}
}

func loading() target.Status {
	return verdict("starting", "look", "LLMReplicaNotUp", "it loads its engine")
}

func serving() target.Status { return verdict("ready", "ok", "", "the API answers 200") }

func failing() target.Status {
	return verdict("failing", "broken", "LLMReplicaBroken", "requests only fail, whatever the API says")
}

func stalled() target.Status {
	return verdict("stalled", "broken", "LLMReplicaBroken", "requests are in flight and no iteration happens")
}

// blind returns a replica whose page cannot be read any more, and what its readiness probe answered
// before.
func blind(ready bool) target.Status {
	s := verdict("blind", "look", "LLMReplicaUnreadable", "its page cannot be read any more")
	s.ProbeReady = ready
	return s
}

// withholding returns a replica that has never given its page to the exporter.
func withholding() target.Status {
	s := blind(false)
	s.Judged, s.LastSuccess = false, time.Time{}
	return s
}

func canaryFailing() target.Status {
	return verdict("canary_failing", "broken", "LLMCanaryFailing", "the API answers 200; the canary request failed "+
		"(never_ended): 8 frames with text came")
}

func mismatching() target.Status {
	s := verdict("ready", "look", "LLMExpectationMismatch", "the API answers 200; it is not what its pool expects: "+
		"trtllm_version")
	s.TRTLLMVersion = "1.2.0"
	s.Checks = []target.CheckList{{
		Name:   "expectations",
		Checks: []target.Check{{Name: "trtllm_version", Reason: "it is 1.2.0, expected is 1.1.0"}},
	}}
	return s
}

// unreachable returns a status whose error names the replica's own address.
func unreachable(address string) target.Status {
	s := verdict(
		"down",
		"broken",
		"LLMReplicaDown",
		"Get \"http://"+address+"/metrics\": dial tcp "+address+": connect: connection refused",
	)
	s.Health, s.LastReason, s.LastError = target.HealthDown, "connect", s.StateReason
	return s
}

// numbers holds the numbers of a replica, in the order of the page, and the counts of its
// objectives.
type numbers struct {
	tokens, waiting, running, limit, cache, firstToken, duration, failed float64

	requests, slow, slowAtMost, failures float64
}

// publish publishes a replica with its numbers, if any.
func (f *fleet) publish(pool, replica string, status target.Status, n *numbers) *snapshot.Slot {
	f.t.Helper()
	slot := f.slot(pool, replica)
	next := snapshot.Snapshot{Status: status}
	if n != nil {
		next.Derived = f.derived(slot.Target().Key(), n)
	}
	slot.Publish(next)
	return slot
}

// derived returns a block of the numbers.
func (f *fleet) derived(key string, n *numbers) *exposition.Block {
	if f.computed[key] == nil {
		var series []exposition.ComputedSeries
		for _, name := range []string{
			"generation_tokens_per_second",
			"queue_depth", "requests_running", "requests_limit", "kv_cache_utilization_ratio",
			"time_to_first_token_average_seconds", "request_duration_average_seconds", "request_error_ratio",
		} {
			family := exposition.Family{Name: "llm_server_" + name, Type: model.MetricTypeGauge}
			series = append(series, exposition.ComputedSeries{
				Family: family,
				Labels: labels.FromStrings("model_id", "m"),
			})
		}
		for _, l := range [][]string{
			{"availability"},
			{"ttft"},
			{"availability", "bound", "lower"},
			{"availability", "bound", "upper"},
			{"ttft", "bound", "lower"},
			{"ttft", "bound", "upper"},
		} {
			family := exposition.Family{Name: "llm_server_slo_requests_total", Type: model.MetricTypeCounter}
			if len(l) > 1 {
				family.Name = "llm_server_slo_requests_bad_total"
			}
			series = append(series, exposition.ComputedSeries{
				Family: family,
				Labels: labels.FromStrings(append([]string{"slo"}, l...)...),
			})
		}
		f.computed[key] = exposition.NewComputed(series, nil)
	}
	b := f.computed[key].Block()
	for i, v := range []float64{
		n.tokens, n.waiting, n.running, n.limit, n.cache, n.firstToken, n.duration, n.failed,
		n.requests, n.requests, n.failures, n.failures, n.slow, n.slowAtMost,
	} {
		b.Set(i, v)
	}
	return b
}

// pageOf returns the page at a path of a fleet with replicas 0, 1 and so on of pool a.
func pageOf(t *testing.T, path string, replicas ...target.Status) string {
	t.Helper()
	f := newFleet(t)
	for i, s := range replicas {
		f.publish("a", strconv.Itoa(i), s, nil)
	}
	return get(handler(t, f.options()), path, "Accept", "text/html").Body.String()
}

// busy returns the numbers of a replica under load.
func busy(tokens float64) *numbers {
	return &numbers{tokens: tokens, waiting: 4, running: 24, limit: 32, cache: 0.31, firstToken: 0.21, duration: 4.4}
}

// followed returns a handler whose pages have a history of the fleet, with a call every second.
func followed(t *testing.T, opts web.Options, length time.Duration, each func(second int)) http.Handler {
	t.Helper()
	s, err := web.New(t.Context(), opts)
	require.NoError(t, err)
	s.Close()
	each(0)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Follow(ctx)
	}()
	for second := range int(length.Seconds()) {
		synctest.Wait()
		each(second)
		time.Sleep(time.Second)
		synctest.Wait()
	}
	cancel()
	<-ended
	return s.Handler()
}

// crowd returns a fleet of a thousand replicas, every fiftieth of which has one of the problems.
func crowd(tb testing.TB, pools int, of func(i int) target.Status) *fleet {
	tb.Helper()
	f := newFleet(tb)
	for i := range 1000 {
		var n *numbers
		status := of(i)
		if status.Health == target.HealthUp {
			n = busy(float64(i))
		}
		f.publish(
			fmt.Sprintf("pool-with-a-usual-name-%d", i%pools),
			fmt.Sprintf("triton-llama-70b-6f7d9c8b5-%d", i),
			status,
			n,
		)
	}
	return f
}

// mixed returns a fleet in which one replica in ten does not serve.
func mixed(i int) target.Status {
	switch i % 50 {
	case 1:
		return failing()
	case 2:
		return unreachable("10.0.0.1:8002")
	case 3:
		return canaryFailing()
	case 4:
		return mismatching()
	case 5:
		return target.Status{}
	default:
		return serving()
	}
}

// tags matches HTML tags.
var tags = regexp.MustCompile(`<[^>]*>`)

// plainText returns a page without its markup.
func plainText(page string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(page, "")), " ")
}

// part returns the text between two texts of a page.
func part(t *testing.T, page, from, to string) string {
	t.Helper()
	_, page, ok := strings.Cut(page, from)
	require.True(t, ok, from)
	page, _, ok = strings.Cut(page, to)
	require.True(t, ok, to)
	return page
}

// names returns the replicas of a page in their order.
func names(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="replica\?[^"]*">([^<]*)<`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}
