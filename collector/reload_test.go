package collector_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	promhttp "github.com/prometheus/prometheus/discovery/http"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// steady is a page that never loses a line of the pool's own series.
func steady(t *testing.T, id, want string) func(page string) {
	t.Helper()
	return func(page string) { requireSame(t, want, rawLines(page, id)) }
}

// whole waits for the whole page of each pool, and returns the page.
func (l *line) whole(replicas int, ids ...string) string {
	l.t.Helper()
	return l.until("Every pool is there", nil, func(page string) string { return lacking(page, replicas, ids...) })
}

// lacking names a pool that does not show the whole page of each replica.
func lacking(page string, replicas int, ids ...string) string {
	for _, id := range ids {
		if strings.Count(rawLines(page, id), "\n") != replicas*strings.Count(tritonPage, "\nnv_") {
			return "the whole page of " + id
		}
	}
	return ""
}

// scrapes waits for three scrapes of a target beyond the n that were seen of
// its loop, which has to be the same all the time, and returns how many it has
// seen then.
func (l *line) scrapes(check func(string), id, replica string, n float64) float64 {
	l.t.Helper()
	series := own("target_scrapes_total", id, replica)
	page := l.until("The target is scraped on", func(page string) {
		require.GreaterOrEqual(l.t, value(page, series), n, "the same loop")
		if check != nil {
			check(page)
		}
	}, func(page string) string {
		if value(page, series) < n+3 {
			return fmt.Sprintf("three more scrapes of %s/%s", id, replica)
		}
		return ""
	})
	return value(page, series)
}

func TestSecondTargetWithSameNameIsRefused(t *testing.T) {
	t.Parallel()
	first, second, other := newStage(t), newStage(t), newStage(t)
	l := startLine(t, staged("p", "r="+first.host(), "r="+second.host(), "s="+other.host()))
	l.whole(2, "p")
	require.Contains(t, l.self(), `trtllm_exporter_targets_refused{pool_id="p"} 1`)
	require.Contains(t, l.self(), `trtllm_exporter_targets{pool_id="p"} 2`)
	require.Zero(t, second.hits.Load())
	require.Positive(t, first.hits.Load())
}

// refusedIs waits until so many targets of a pool_id are counted as refused; 0 is
// also no count at all.
func (l *line) refusedIs(id string, n int) {
	l.t.Helper()
	l.waitFor("The count of refused targets", glance, func() (page, missing string) {
		self, name := l.self(), fmt.Sprintf("trtllm_exporter_targets_refused{pool_id=%q}", id)
		if want := fmt.Sprintf("%s %d", name, n); !strings.Contains(self, want+"\n") && (n > 0 || strings.Contains(self, name)) {
			return self, want
		}
		return self, ""
	})
}

// Whoever leaves, a target is counted as refused only while it is.
func TestRefusedTargetStartsWhenNameIsFree(t *testing.T) {
	t.Parallel()
	first, second := newStage(t), newStage(t)
	in := func(id, poolID string, of *stage) config.Pool {
		p := staged(id, "r="+of.host())
		p.Discovery.StaticConfigs[0].Labels["pool_id"] = model.LabelValue(poolID)
		return p
	}
	for name, pools := range map[string]struct {
		first, second config.Pool
		id            string
	}{
		"the name is that of neither pool":         {in("p", "shared", first), in("q", "shared", second), "shared"},
		"the name is that of the pool that waited": {in("p", "q", first), staged("q", "r="+second.host()), "q"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLine(t, pools.first)
			l.whole(1, pools.id)
			l.apply(pools.first, pools.second)
			l.refusedIs(pools.id, 1)
			l.apply(pools.second)
			l.refusedIs(pools.id, 0)
			l.whole(1, pools.id)
		})
	}
	t.Run("the one that waited leaves", func(t *testing.T) {
		t.Parallel()
		l := startLine(t, staged("p", "r="+first.host()))
		l.whole(1, "p")
		l.apply(staged("p", "r="+first.host()), in("q", "p", second))
		l.refusedIs("p", 1)
		l.apply(staged("p", "r="+first.host()))
		l.refusedIs("p", 0)
	})
}

func TestReloadKeepsUnchangedTargets(t *testing.T) {
	t.Parallel()
	a, b := newStage(t), newStage(t)
	l := startLine(t, staged("p", "a="+a.host()))
	page := l.whole(1, "p")
	check := steady(t, "p", rawLines(page, "p"))
	n := l.scrapes(check, "p", "a", 0)
	// The same again, another pool next to it, and back.
	for _, pools := range [][]config.Pool{
		{staged("p", "a="+a.host())},
		{staged("p", "a="+a.host()), staged("q", "b="+b.host())},
		{staged("p", "a="+a.host())},
	} {
		l.apply(pools...)
		n = l.scrapes(check, "p", "a", n)
	}
	// A further target of the pool leaves the first one's loop alone, and so
	// does taking it away.
	l.apply(staged("p", "a="+a.host(), "b="+b.host()))
	l.whole(2, "p")
	n = l.scrapes(nil, "p", "a", n)
	l.apply(staged("p", "a="+a.host()))
	l.whole(1, "p")
	l.scrapes(check, "p", "a", n)
	require.EqualValues(t, 1, a.most.Load(), "one scrape at a time")
}

// What this exporter has seen it knows over a reload: a replica that ended is down,
// and not one that may be loading.
func TestReplicaStaysDownAcrossReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		p := &puppet{page: func(string) (string, error) {
			if ended.Load() {
				return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
			}
			return tritonPage, nil
		}}
		l := led(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(20 * time.Second)
		ended.Store(true)
		time.Sleep(20 * time.Second)
		require.Equal(t, "down", l.status("a").State)
		for i := range 2 {
			changed := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
			changed.TRTLLMVersion = fmt.Sprintf("1.0.%d", i)
			l.apply(changed)
			time.Sleep(20 * time.Second)
			require.Equal(t, "down", l.status("a").State, "after reload %d", i)
		}
		l.apply(everySeconds("p", 5, "a=10.0.0.2:1|10.0.0.2:2"))
		time.Sleep(20 * time.Second)
		require.Equal(t, "unknown", l.status("a").State, "what is at its new address may be loading")
	})
}

// Nobody can put off by reloads that a replica which never comes is down.
func TestStartBudgetContinuesAcrossReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := nobody()
		never := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		never.StartBudget = model.Duration(time.Minute)
		l := led(t, p, never)
		for i := range 3 {
			time.Sleep(25 * time.Second)
			require.Equal(t, map[bool]string{true: "unknown", false: "down"}[i < 2], l.status("a").State, "after %d reloads", i)
			never.TRTLLMVersion = fmt.Sprintf("1.0.%d", i)
			l.apply(never)
		}
	})
}

// A rank that binds no port is not looked for: its budget begins when it is.
func TestStartBudgetBeginsAtFirstAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := nobody()
		rank := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		rank.StartBudget, rank.Silent = model.Duration(time.Minute), true
		l := led(t, p, rank)
		time.Sleep(time.Hour)
		rank.Silent = false
		l.apply(rank)
		time.Sleep(30 * time.Second)
		require.Equal(t, "unknown", l.status("a").State)
		time.Sleep(time.Minute)
		require.Equal(t, "down", l.status("a").State)
	})
}

// An API that no longer answers is known to have answered, over a reload too.
func TestDrainingServerStaysDrainingAcrossReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ending atomic.Bool
		p := &puppet{api: func(ctx context.Context, u *url.URL) (int, string, error) {
			if ending.Load() {
				return 0, "", errRefused
			}
			return tritonAPI(ctx, u)
		}}
		l := led(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(20 * time.Second)
		require.Equal(t, "ready", l.status("a").State)
		ending.Store(true)
		time.Sleep(20 * time.Second)
		for i := range 2 {
			require.Equal(t, "draining", l.status("a").State, "after %d reloads", i)
			changed := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
			changed.TRTLLMVersion = fmt.Sprintf("1.0.%d", i)
			l.apply(changed)
			time.Sleep(20 * time.Second)
		}
		l.apply(everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:3"))
		time.Sleep(20 * time.Second)
		require.Contains(t, l.status("a").StateReason, "set api_port", "it never answered there")
	})
}

func TestRemovedPoolHasNoSeries(t *testing.T) {
	t.Parallel()
	a, b := newStage(t), newStage(t)
	l := startLine(t, staged("p", "a="+a.host()), staged("q", "b="+b.host()))
	page := l.whole(1, "p", "q")
	l.apply(staged("p", "a="+a.host()))
	l.until("The removed pool leaves", steady(t, "p", rawLines(page, "p")), func(page string) string {
		if strings.Contains(page, `pool_id="q"`) || strings.Contains(l.self(), `pool_id="q"`) {
			return `absence of pool "q"`
		}
		return ""
	})
}

// TestRemovedTargetLeavesNoConnection has a pool that is kept by another target.
func TestRemovedTargetLeavesNoConnection(t *testing.T) {
	t.Parallel()
	stays, leaves := newStage(t), httptest.NewUnstartedServer(body(tritonPage))
	var connections atomic.Int64
	leaves.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
		if state == http.StateClosed {
			connections.Add(-1)
		}
	}
	leaves.Start()
	t.Cleanup(leaves.Close)
	withPassword := func(targets ...string) config.Pool { // Otherwise pages are not scraped by net/http.
		p := staged("p", targets...)
		p.HTTP.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: "p"}
		return p
	}
	address := leaves.Listener.Addr().String()
	l := startLine(t, withPassword("a="+stays.host(), "b="+address+"|"+address))
	l.whole(2, "p")
	require.Positive(t, connections.Load())
	l.apply(withPassword("a=" + stays.host()))
	require.Eventually(t, func() bool { return connections.Load() == 0 }, patience, glance)
}

func TestP01P02InvalidConfigChangesNothing(t *testing.T) {
	t.Parallel()
	a, b := newStage(t), newStage(t)
	l := startLine(t, staged("p", "a="+a.host()))
	check := steady(t, "p", rawLines(l.whole(1, "p"), "p"))
	n := l.scrapes(check, "p", "a", 0)
	bad := staged("z", "b="+b.host())
	bad.HTTP.TLS.CAFile = "/there/is/no/such/file.pem"
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{staged("q", "b="+b.host()), bad}
	cfg.Resolve()
	require.ErrorContains(t, l.ApplyConfig(&cfg), `pool "z"`)
	l.scrapes(check, "p", "a", n)
	require.Zero(t, b.hits.Load())
}

func TestP03HundredReloadsWithReaders(t *testing.T) {
	t.Parallel()
	a, b := newStage(t), newStage(t)
	l := startLine(t, staged("p", "a="+a.host()))
	lines := strings.Count(tritonPage, "\nnv_")
	l.whole(1, "p")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var m exposition.Merger
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := l.store.Blocks(nil)
				var page strings.Builder
				err := m.Layout(v).WriteText(&page, v, nil)
				if err != nil || strings.Count(rawLines(page.String(), "p"), "\n") != lines {
					t.Errorf("a page is not whole: %v\n%s", err, nearest(page.String(), `{pool_id="p"`))
					return
				}
				l.wait(time.Millisecond)
			}
		})
	}
	for i := range 100 {
		p := staged("p", "a="+a.host())
		p.IdentityInterval = model.Duration(time.Duration(100+i%3) * time.Millisecond)
		pools := []config.Pool{p}
		if i%2 == 0 {
			pools = append(pools, staged("q", "b="+b.host()))
		}
		l.apply(pools...)
		l.wait(time.Duration(i%4) * time.Millisecond)
	}
	l.apply(staged("p", "a="+a.host()))
	l.until("The last configuration holds", nil, func(page string) string {
		if strings.Contains(page, `pool_id="q"`) || len(l.store.Slots()) != 1 {
			return `absence of pool "q"`
		}
		return ""
	})
	close(stop)
	readers.Wait()
}

// listedBy adds a service to the pool's sources.
func listedBy(p config.Pool, service *stage) config.Pool {
	p.Discovery.HTTPSDConfigs = append(slices.Clone(p.Discovery.HTTPSDConfigs), &promhttp.SDConfig{
		URL: service.URL, RefreshInterval: model.Duration(time.Second), HTTPClientConfig: promconfig.DefaultHTTPClientConfig,
	})
	return p
}

// Replicas that only a slow source names stay while a pool is searched again.
func TestReplicasWaitForNewDiscovery(t *testing.T) {
	t.Parallel()
	a, b, c := newStage(t), newStage(t), newStage(t)
	before, after := newStage(t), newStage(t)
	before.enter(nil, listing("b="+b.host(), "c="+c.host()))
	after.enter(nil, status(http.StatusServiceUnavailable))
	l := startLine(t, listedBy(staged("p", "a="+a.host()), before))
	l.whole(3, "p")
	n := l.scrapes(nil, "p", "b", 0)
	// The new directory does not answer yet; static targets come at once.
	l.apply(listedBy(staged("p", "a="+a.host()), after))
	check := func(page string) {
		for _, replica := range []string{"a", "b"} {
			require.InDelta(t, 1, value(page, own("target_up", "p", replica)), 0)
		}
	}
	n = l.scrapes(func(page string) {
		check(page)
		require.InDelta(t, 1, value(page, own("target_up", "p", "c")), 0)
	}, "p", "b", n)
	after.enter(nil, listing("b="+b.host()))
	l.until("What no source names leaves", check, func(page string) string {
		if strings.Contains(page, `replica_id="c"`) {
			return "absence of c"
		}
		return ""
	})
	l.scrapes(check, "p", "b", n)
}

// A source that never answers keeps what it once named for a while only.
func TestReplicasDoNotWaitForever(t *testing.T) {
	t.Parallel()
	a, b := newStage(t), newStage(t)
	before, never := newStage(t), newStage(t)
	before.enter(nil, listing("b="+b.host()))
	never.enter(nil, status(http.StatusServiceUnavailable))
	l := newLine(t)
	l.SetGrace(300 * time.Millisecond)
	l.apply(listedBy(staged("p", "a="+a.host()), before))
	l.start()
	l.whole(2, "p")
	l.apply(listedBy(staged("p", "a="+a.host()), never))
	l.until("The grace ends", nil, func(page string) string {
		if strings.Contains(page, `replica_id="b"`) {
			return "absence of b"
		}
		return ""
	})
	l.whole(1, "p")
}

func TestP04RunEndsWithFiftyHangingTargets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.play(faulty(simulate.FaultHang))
	address := s.host()
	targets := make([]string, 50)
	for i := range targets {
		targets[i] = fmt.Sprintf("r%d=%s", i, address)
	}
	p := staged("p", targets...)
	p.ScrapeTimeout = model.Duration(time.Minute)
	l := startLine(t, p)
	for l.t.Context().Err() == nil && s.busy.Load() < 50 {
		l.wait(5 * time.Millisecond)
	}
	start := time.Now()
	require.NoError(t, l.end())
	require.Less(t, time.Since(start), 10*time.Second)
	require.Empty(t, l.store.Slots())
	require.EqualValues(t, 50, s.most.Load())
}

func TestReloadWithAnotherShardMovesTargets(t *testing.T) {
	t.Parallel()
	var targets []string
	for i := range 20 {
		targets = append(targets, fmt.Sprintf("r%d=10.0.0.%d:1", i, i))
	}
	p := pool("p", targets...)
	p.Silent = true
	first, second := startLine(t), startLine(t)
	reload := func(l *line, total, index int) {
		cfg := config.DefaultFile
		cfg.Pools, cfg.Sharding = []config.Pool{p}, config.Sharding{Total: total, Index: &index}
		cfg.Resolve()
		require.NoError(t, l.ApplyConfig(&cfg))
	}
	keys := func(lines ...*line) (all []string) {
		for _, l := range lines {
			for _, slot := range l.store.Slots() {
				all = append(all, slot.Target().Key())
			}
		}
		return slices.Sorted(slices.Values(all))
	}
	become := func(want []string, lines ...*line) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(want, keys(lines...)) }, patience, time.Millisecond)
	}
	reload(first, 1, 0)
	require.Eventually(t, func() bool { return len(keys(first)) == len(targets) }, patience, time.Millisecond)
	all := keys(first)
	reload(second, 1, 0)
	become(all, second)
	reload(first, 2, 0)
	reload(second, 2, 1)
	become(all, first, second)
	of0, of1 := keys(first), keys(second)
	require.NotEmpty(t, of0)
	require.NotEmpty(t, of1)
	reload(first, 2, 1)
	become(of1, first)
	reload(second, 2, 0)
	become(of0, second)
}

// The same file read again is the same configuration, whatever is in it.
func TestReloadOfSameFileChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	services := newStage(t)
	services.enter(nil, status(http.StatusServiceUnavailable))
	file := `
pools:
  - pool_id: p
    metrics_path: /metrics
    basic_auth: {username: u, password: secret}
    proxy_from_environment: true
    http_headers: {X-A: {values: [b]}}
    model_ids: {llama: [ensemble]}
    relabel_configs: [{source_labels: [__address__], regex: "(.*):.*", target_label: host}]
    metric_relabel_configs: [{source_labels: [__name__], regex: "nv_x.*", action: drop}]
    static_configs: [{targets: ["` + s.address() + `"], labels: {replica_id: r}}]
    file_sd_configs: [{files: [/nowhere/*.json]}]
    http_sd_configs: [{url: "` + services.URL + `", refresh_interval: 1h}]
`
	l := newLine(t)
	read := func() {
		cfg := config.DefaultFile
		require.NoError(t, yaml.Unmarshal([]byte(file), &cfg))
		cfg.Resolve()
		require.NoError(t, cfg.Validate())
		cfg.Pools[0].ScrapeInterval = model.Duration(100 * time.Millisecond)
		require.NoError(t, l.ApplyConfig(&cfg))
	}
	read()
	l.start()
	l.eventually(own("target_up", "p", "r"))
	n := l.scrapes(nil, "p", "r", 0)
	for range 3 {
		read()
		n = l.scrapes(nil, "p", "r", n)
	}
}
