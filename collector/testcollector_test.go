package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// waitTimeout is how long a test waits for a condition on a busy machine.
const waitTimeout = 5 * time.Minute

// pollInterval is the time between two reads of the page, which is costly to write. Most targets
// are scraped every tenth of a second.
const pollInterval = 40 * time.Millisecond

// testCollector is a running collector with its store.
type testCollector struct {
	*collector.Collector

	t        *testing.T
	store    *snapshot.Store
	registry *prometheus.Registry
	merger   exposition.Merger
	// lastSize is the size of the last page in bytes; the next one is similar.
	lastSize atomic.Int64
	// stop stops the collector and waits for it.
	stop func() error
}

// startCollector runs a collector until the test ends.
func startCollector(t *testing.T, pools ...config.Pool) *testCollector {
	t.Helper()
	tc := newCollector(t)
	tc.apply(pools...)
	tc.start()
	return tc
}

// newCollector returns a collector that does not run yet.
func newCollector(t *testing.T) *testCollector {
	t.Helper()
	return newLoggingCollector(t, slog.DiscardHandler)
}

// newLoggingCollector returns a collector with a log.
func newLoggingCollector(t *testing.T, log slog.Handler) *testCollector {
	t.Helper()
	tc := &testCollector{t: t, store: snapshot.NewStore(), registry: prometheus.NewRegistry()}
	c, err := collector.New(collector.Options{
		Store: tc.store, Logger: slog.New(log), Registerer: tc.registry,
	})
	require.NoError(t, err)
	tc.Collector = c
	return tc
}

// start runs the collector until the test ends or stop is called.
func (tc *testCollector) start() {
	ctx, cancel := context.WithCancel(tc.t.Context())
	done := make(chan error, 1)
	go func() { done <- tc.Run(ctx) }()
	tc.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	tc.t.Cleanup(func() { require.NoError(tc.t, tc.stop()) })
}

// ownMetrics returns the collector's metrics about itself.
func (tc *testCollector) ownMetrics() string {
	tc.t.Helper()
	families, err := tc.registry.Gather()
	require.NoError(tc.t, err)
	var b strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&b, f)
		require.NoError(tc.t, err)
	}
	return b.String()
}

// apply applies a configuration with these pools.
func (tc *testCollector) apply(pools ...config.Pool) {
	tc.t.Helper()
	cfg := config.DefaultFile
	cfg.Pools = pools
	cfg.Resolve()
	require.NoError(tc.t, tc.ApplyConfig(&cfg))
}

// pool returns a pool of static targets, scraped often; targets are "name=host:port",
// optionally followed by "|host:port" of their API.
func pool(id string, targets ...string) config.Pool {
	p := config.DefaultPool
	p.PoolID = id
	p.ScrapeInterval = model.Duration(100 * time.Millisecond)
	// Longer than the interval, which no file may set: these tests must not fail on a
	// busy machine, where a page that is not renewed within this time is taken away.
	p.ScrapeTimeout = model.Duration(waitTimeout)
	p.IdentityInterval = model.Duration(100 * time.Millisecond)
	for i, t := range targets {
		name, address, _ := strings.Cut(t, "=")
		address, api, _ := strings.Cut(address, "|")
		p.Discovery.StaticConfigs = append(p.Discovery.StaticConfigs, &targetgroup.Group{
			Source:  string(rune('a' + i)),
			Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}},
			Labels: model.LabelSet{
				"replica_id": model.LabelValue(name), collector.APIAddressLabel: model.LabelValue(api),
			},
		})
	}
	return p
}

// page returns the current merged page.
func (tc *testCollector) page() string {
	tc.t.Helper()
	v := tc.store.Blocks(nil)
	var b strings.Builder
	b.Grow(int(tc.lastSize.Load()) * 9 / 8)
	err := tc.merger.Layout(v).WriteText(&b, v, nil)
	require.NoError(tc.t, err)
	tc.lastSize.Store(int64(b.Len()))
	return b.String()
}

// waitFor calls look until nothing is missing, and returns its page. A failure names what is
// missing, with the nearest lines of that page, or of the current page if look returns none.
func (tc *testCollector) waitFor(what string, every time.Duration, look func() (page, missing string)) string {
	tc.t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; tc.wait(every) {
		page, missing := look()
		if missing == "" {
			return page
		}
		if time.Now().After(deadline) {
			if page == "" {
				page = tc.page()
			}
			require.Failf(
				tc.t,
				what+": timeout",
				"missing: %s\nnearest to it:\n%s",
				missing,
				nearestLines(page, missing),
			)
		}
	}
}

// wait sleeps until the time is over or the test ends.
func (tc *testCollector) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-tc.t.Context().Done():
	case <-timer.C:
	}
}

// pollPage polls the page until done reports nothing missing, and requires every page to
// be valid and to pass check.
func (tc *testCollector) pollPage(
	what string,
	check func(page string),
	done func(page string) (missing string),
) string {
	tc.t.Helper()
	return tc.pollPageEvery(pollInterval, what, check, done)
}

// pollPageEvery is pollPage with another interval.
func (tc *testCollector) pollPageEvery(
	every time.Duration,
	what string,
	check func(page string),
	done func(page string) (missing string),
) string {
	tc.t.Helper()
	return tc.waitFor(what, every, func() (page, missing string) {
		page = tc.page()
		requireValid(tc.t, page)
		if check != nil {
			check(page)
		}
		return page, done(page)
	})
}

// waitForText waits until the page contains all texts.
func (tc *testCollector) waitForText(texts ...string) string {
	tc.t.Helper()
	return tc.waitFor("A text on the page", pollInterval, func() (page, missing string) {
		page = tc.page()
		for _, text := range texts {
			if !strings.Contains(page, text) {
				return page, text
			}
		}
		return page, ""
	})
}

// waitForNoText waits until the page no longer contains the text.
func (tc *testCollector) waitForNoText(text string) {
	tc.t.Helper()
	tc.waitFor("A page without a text", pollInterval, func() (page, missing string) {
		if page = tc.page(); strings.Contains(page, text) {
			return page, "absence of " + text
		}
		return page, ""
	})
}

// status returns the status of a replica, empty before it is discovered.
func (tc *testCollector) status(replicaID string) target.Status {
	for _, slot := range tc.store.Slots() {
		if slot.Target().ReplicaID == replicaID {
			return slot.Status()
		}
	}
	return target.Status{}
}

// waitForState waits until a replica is in a state whose reason contains a text.
func (tc *testCollector) waitForState(replicaID, state, reason string) target.Status {
	tc.t.Helper()
	var s target.Status
	tc.waitFor("State "+state, 10*time.Millisecond, func() (page, missing string) {
		if s = tc.status(replicaID); s.State != state || !strings.Contains(s.StateReason, reason) {
			return s.State + ": " + s.StateReason, state + ": " + reason
		}
		return "", ""
	})
	return s
}

// targetsOf returns the targets of simulated replicas.
func targetsOf(t *testing.T, replicas ...*simulate.Replica) []string {
	t.Helper()
	targets := make([]string, 0, len(replicas))
	for _, r := range replicas {
		page, err := url.Parse(r.MetricsURL())
		require.NoError(t, err)
		api, err := url.Parse(r.APIURL())
		require.NoError(t, err)
		targets = append(targets, r.Name()+"="+page.Host+"|"+api.Host)
	}
	return targets
}

func TestDemoFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*simulate.Replica{}
		var pools []config.Pool
		for _, p := range simulate.DemoFleet(1).Pools {
			var targets []string
			for _, spec := range p.Replicas {
				r, err := simulate.NewReplica(spec)
				require.NoError(t, err)
				address := fmt.Sprintf("10.0.0.%d:8000", len(servers))
				servers[address] = r
				targets = append(targets, r.Name()+"="+address+"|"+address)
			}
			demo := pool(p.Name, targets...)
			demo.ScrapeInterval = model.Duration(5 * time.Second)
			pools = append(pools, demo)
		}
		tc := newCollector(t)
		tc.UseScraper(simulated(servers))
		tc.apply(pools...)
		tc.start()
		time.Sleep(40 * time.Second)
		synctest.Wait()
		page := tc.page()
		for _, text := range []string{
			`trtllm_exporter_target_up{pool_id="llama-70b-prod",replica_id="llama-70b-2"} 1`,
			`trtllm_exporter_target_up{pool_id="qwen-7b-chat",replica_id="qwen-7b-2"} 1`,
			`llm_server_generation_tokens_per_second{engine="triton",engine_version="2.64.0",model_id="ensemble",pool_id="llama-70b-prod",replica_id="llama-70b-0",trtllm_version="1.1.0"}`,
			`llm_server_queue_depth{engine="trtllm-serve",engine_version="1.3.0rc14",model_id="qwen-7b-chat",pool_id="qwen-7b-chat",replica_id="qwen-7b-0",trtllm_version="1.3.0rc14"}`,
			`request_success_total{engine="trtllm-serve",engine_type="undefined",engine_version="1.1.0"`,
			`llm_server_state{engine="triton",engine_version="2.64.0",pool_id="llama-70b-prod",replica_id="llama-70b-1",state="ready",trtllm_version="1.1.0"} 1`,
			`llm_server_state{engine="triton",engine_version="2.64.0",pool_id="llama-70b-prod",replica_id="llama-70b-2",state="ready",trtllm_version="1.1.0"} 1`,
		} {
			requireText(t, page, text)
		}
		for line := range strings.SplitSeq(page, "\n") {
			if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "trtllm_exporter_") ||
				strings.HasPrefix(line, "llm_server_pool_") {
				continue
			}
			for _, label := range []string{
				`engine="`, `engine_version="`, `trtllm_version="`, `pool_id="`, `replica_id="`,
			} {
				require.Contains(t, line, label)
			}
			for _, unknown := range []string{`class="unknown"`, `resource="unknown"`, `state="unknown"`} {
				line = strings.Replace(line, unknown, "", 1)
			}
			require.NotContains(t, line, `"unknown"`)
		}
		require.True(t, tc.Ready(), "the exporter is ready")
	})
}

func TestPoolSkew(t *testing.T) {
	t.Parallel()
	small := simulate.Engine{TokensPerBlock: 32}
	alike := simulate.Spec{
		Name:      "a",
		Kind:      simulate.KindTriton,
		Setup:     simulate.Setup{Histograms: true},
		Streaming: true,
		GPUs:      1,
	}
	twin := alike
	twin.Name = "b"
	other := simulate.Spec{
		Name:          "c",
		Kind:          simulate.KindTriton,
		EngineVersion: "2.67.0",
		TRTLLMVersion: "1.2.0",
		Engine:        small,
		GPUs:          4,
	}
	tc := startCollector(t,
		pool("alike", targetsOf(t, busyReplica(t, alike), busyReplica(t, twin))...),
		pool("mixed", targetsOf(t, busyReplica(t, alike), busyReplica(t, twin), busyReplica(t, other))...),
		pool("one", append(targetsOf(t, busyReplica(t, alike)), "gone=127.0.0.1:1")...),
		pool("gone", "gone=127.0.0.1:1"),
	)
	tc.waitForText(
		`llm_server_pool_skew{fact="engine_version",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="config_hash",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="histogram_buckets",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="gpu",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="engine_version",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="config_hash",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="histogram_buckets",pool_id="mixed"} 0`,
		`llm_server_pool_skew{fact="gpu",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="engine_version",pool_id="one"} 0`,
	)
	requireNoText(t, tc.page(), `llm_server_pool_skew{fact="engine_version",pool_id="gone"}`)
	tc.apply(pool("gone", "gone=127.0.0.1:1"))
	tc.waitForNoText("llm_server_pool_skew{")
}
