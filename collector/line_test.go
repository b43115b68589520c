package collector_test

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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

// patience is how long a test waits for what has to come, on a machine that may
// be busy.
const patience = time.Minute

// glance is the time between two looks at a page, most of whose targets are scraped
// every tenth of a second: a page is costly to write.
const glance = 40 * time.Millisecond

// line is a running collector with its store.
type line struct {
	*collector.Collector

	t        *testing.T
	store    *snapshot.Store
	registry *prometheus.Registry
	merger   exposition.Merger
	// large is the size of the last page in bytes, for the next is about as large.
	large atomic.Int64
	// end ends the collector and waits for it.
	end func() error
}

// startLine runs a collector until the test ends.
func startLine(t *testing.T, pools ...config.Pool) *line {
	t.Helper()
	l := newLine(t)
	l.apply(pools...)
	l.start()
	return l
}

// newLine makes a collector that does not run yet.
func newLine(t *testing.T) *line {
	t.Helper()
	return newLoggedLine(t, slog.DiscardHandler)
}

// newLoggedLine makes one with a log.
func newLoggedLine(t *testing.T, log slog.Handler) *line {
	t.Helper()
	l := &line{t: t, store: snapshot.NewStore(), registry: prometheus.NewRegistry()}
	c, err := collector.New(collector.Options{
		Store: l.store, Logger: slog.New(log), Registerer: l.registry,
	})
	require.NoError(t, err)
	l.Collector = c
	return l
}

// start runs the collector until the test ends, or end is called.
func (l *line) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	l.t.Cleanup(func() { require.NoError(l.t, l.end()) })
}

// self are the collector's series about itself.
func (l *line) self() string {
	l.t.Helper()
	families, err := l.registry.Gather()
	require.NoError(l.t, err)
	var b strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&b, f)
		require.NoError(l.t, err)
	}
	return b.String()
}

// apply takes over a configuration of these pools.
func (l *line) apply(pools ...config.Pool) {
	l.t.Helper()
	cfg := config.DefaultFile
	cfg.Pools = pools
	cfg.Resolve()
	require.NoError(l.t, l.ApplyConfig(&cfg))
}

// pool is a pool of static targets, scraped often; targets are
// "name=host:port", with "|host:port" of their API behind.
func pool(id string, targets ...string) config.Pool {
	p := config.DefaultPool
	p.PoolID = id
	p.ScrapeInterval = model.Duration(100 * time.Millisecond)
	// Longer than the interval, which no file may say: a machine under load must
	// not fail these tests.
	p.ScrapeTimeout = model.Duration(30 * time.Second)
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

// page is the merged page of the moment.
func (l *line) page() string {
	l.t.Helper()
	v := l.store.Blocks(nil)
	var b strings.Builder
	b.Grow(int(l.large.Load()) * 9 / 8)
	err := l.merger.Layout(v).WriteText(&b, v, nil)
	require.NoError(l.t, err)
	l.large.Store(int64(b.Len()))
	return b.String()
}

// waitFor looks again and again until nothing is missing any more, and returns
// the page of then. Its failure says what is missing, and what is nearest to it:
// on the page that was looked at, or on that of now if the look needs none.
func (l *line) waitFor(what string, every time.Duration, look func() (page, missing string)) string {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; l.wait(every) {
		page, missing := look()
		if missing == "" {
			return page
		}
		if time.Now().After(deadline) {
			if page == "" {
				page = l.page()
			}
			require.Failf(l.t, what+": that never came", "missing: %s\nnearest to it:\n%s", missing, nearest(page, missing))
		}
	}
}

// wait lets time pass between two looks.
func (l *line) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.t.Context().Done():
	case <-timer.C:
	}
}

// until polls the page until done is content with it, and requires every page
// on the way to be valid and check to hold.
func (l *line) until(what string, check func(page string), done func(page string) (missing string)) string {
	l.t.Helper()
	return l.untilEvery(glance, what, check, done)
}

// untilEvery is until with another time between two looks.
func (l *line) untilEvery(every time.Duration, what string, check func(page string), done func(page string) (missing string)) string {
	l.t.Helper()
	return l.waitFor(what, every, func() (page, missing string) {
		page = l.page()
		requireValid(l.t, page)
		if check != nil {
			check(page)
		}
		return page, done(page)
	})
}

// eventually waits until the page has all of the texts.
func (l *line) eventually(texts ...string) string {
	l.t.Helper()
	return l.waitFor("A text on the page", glance, func() (page, missing string) {
		page = l.page()
		for _, text := range texts {
			if !strings.Contains(page, text) {
				return page, text
			}
		}
		return page, ""
	})
}

// eventuallyWithout waits until the page has not got the text any more.
func (l *line) eventuallyWithout(text string) {
	l.t.Helper()
	l.waitFor("A page without a text", glance, func() (page, missing string) {
		if page = l.page(); strings.Contains(page, text) {
			return page, "absence of " + text
		}
		return page, ""
	})
}

// status is that of a replica, empty before it is discovered.
func (l *line) status(replicaID string) target.Status {
	for _, slot := range l.store.Slots() {
		if slot.Target().ReplicaID == replicaID {
			return slot.Status()
		}
	}
	return target.Status{}
}

// comes waits until a replica is in a state whose reason contains a text.
func (l *line) comes(replicaID, state, reason string) target.Status {
	l.t.Helper()
	var s target.Status
	l.waitFor("State "+state, 10*time.Millisecond, func() (page, missing string) {
		if s = l.status(replicaID); s.State != state || !strings.Contains(s.StateReason, reason) {
			return s.State + ": " + s.StateReason, state + ": " + reason
		}
		return "", ""
	})
	return s
}

// of are the targets of simulated replicas.
func of(t *testing.T, replicas ...*simulate.Replica) []string {
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
	fleet, err := simulate.StartFleet(t.Context(), simulate.DemoFleet(20))
	require.NoError(t, err)
	defer fleet.Close()
	var pools []config.Pool
	for _, p := range fleet.Pools() {
		pools = append(pools, pool(p.Name, of(t, p.Replicas...)...))
	}
	l := startLine(t, pools...)
	page := l.eventually(
		`trtllm_exporter_target_up{pool_id="llama-70b-prod",replica_id="llama-70b-2"} 1`,
		`trtllm_exporter_target_up{pool_id="qwen-7b-chat",replica_id="qwen-7b-2"} 1`,
		`llm_server_generation_tokens_per_second{engine="triton",engine_version="2.64.0",model_id="ensemble",pool_id="llama-70b-prod",replica_id="llama-70b-0",trtllm_version="1.1.0"}`,
		`llm_server_queue_depth{engine="trtllm-serve",engine_version="1.3.0rc14",model_id="qwen-7b-chat",pool_id="qwen-7b-chat",replica_id="qwen-7b-0",trtllm_version="1.3.0rc14"}`,
		`request_success_total{engine="trtllm-serve",engine_type="undefined",engine_version="1.1.0"`,
		`llm_server_state{engine="triton",engine_version="2.64.0",pool_id="llama-70b-prod",replica_id="llama-70b-1",state="ready",trtllm_version="1.1.0"} 1`,
		`llm_server_state{engine="triton",engine_version="2.64.0",pool_id="llama-70b-prod",replica_id="llama-70b-2",state="ready",trtllm_version="1.1.0"} 1`,
	)
	for line := range strings.SplitSeq(page, "\n") {
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "trtllm_exporter_") || strings.HasPrefix(line, "llm_server_pool_") {
			continue
		}
		for _, label := range []string{`engine="`, `engine_version="`, `trtllm_version="`, `pool_id="`, `replica_id="`} {
			require.Contains(t, line, label)
		}
		for _, known := range []string{`class="unknown"`, `resource="unknown"`, `state="unknown"`} {
			line = strings.Replace(line, known, "", 1)
		}
		require.NotContains(t, line, `"unknown"`)
	}
	require.True(t, l.Ready())
}

func TestPoolSkew(t *testing.T) {
	t.Parallel()
	small := simulate.Engine{TokensPerBlock: 32}
	alike := simulate.Spec{Name: "a", Kind: simulate.KindTriton, Setup: simulate.Setup{Histograms: true}, Streaming: true, GPUs: 1}
	twin := alike
	twin.Name = "b"
	other := simulate.Spec{Name: "c", Kind: simulate.KindTriton, EngineVersion: "2.67.0", TRTLLMVersion: "1.2.0", Engine: small, GPUs: 4}
	l := startLine(t,
		pool("alike", of(t, worked(t, alike), worked(t, twin))...),
		pool("mixed", of(t, worked(t, alike), worked(t, twin), worked(t, other))...),
		pool("one", append(of(t, worked(t, alike)), "gone=127.0.0.1:1")...),
		pool("gone", "gone=127.0.0.1:1"),
	)
	l.eventually(
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
	requireNoText(t, l.page(), `llm_server_pool_skew{fact="engine_version",pool_id="gone"}`)
	l.apply(pool("gone", "gone=127.0.0.1:1"))
	l.eventuallyWithout("llm_server_pool_skew{")
}
