package collector_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// requireRawLines returns a check that the pool's own series are unchanged.
func requireRawLines(t *testing.T, id, want string) func(page string) {
	t.Helper()
	return func(page string) { requireSame(t, want, rawLines(page, id)) }
}

// waitForPools waits for the complete page of each pool, and returns the merged page.
func (tc *testCollector) waitForPools(replicas int, ids ...string) string {
	tc.t.Helper()
	return tc.pollPage(
		"Every pool is there",
		nil,
		func(page string) string { return incompletePool(page, replicas, ids...) },
	)
}

// incompletePool names a pool without the complete page of each replica.
func incompletePool(page string, replicas int, ids ...string) string {
	for _, id := range ids {
		if strings.Count(rawLines(page, id), "\n") != replicas*strings.Count(tritonPage, "\nnv_") {
			return "the whole page of " + id
		}
	}
	return ""
}

// waitForScrapes waits for three scrapes of a target after the first n, which the same
// loop must have done, and returns the new number of scrapes.
func (tc *testCollector) waitForScrapes(check func(string), id, replica string, n float64) float64 {
	tc.t.Helper()
	series := targetSeries("target_scrapes_total", id, replica)
	page := tc.pollPage("The target is scraped on", func(page string) {
		require.GreaterOrEqual(tc.t, value(page, series), n, "the same loop")
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
	first, second, other := newFakeServer(t), newFakeServer(t), newFakeServer(t)
	tc := startCollector(
		t,
		metricsPool("p", "r="+first.pageAndAPI(), "r="+second.pageAndAPI(), "s="+other.pageAndAPI()),
	)
	tc.waitForPools(2, "p")
	tc.waitForRefused("p", 1)
	require.Contains(t, tc.ownMetrics(), `trtllm_exporter_targets{pool_id="p"} 2`)
	require.Positive(t, first.scrapes.Load()+second.scrapes.Load())
}

// waitForRefused waits until a number of targets of a pool is refused. An absent series counts as
// 0.
func (tc *testCollector) waitForRefused(id string, n int) {
	tc.t.Helper()
	tc.waitFor("The count of refused targets", pollInterval, func() (page, missing string) {
		self, name := tc.ownMetrics(), fmt.Sprintf("trtllm_exporter_targets_refused{pool_id=%q}", id)
		if want := fmt.Sprintf("%s %d", name, n); !strings.Contains(self, want+"\n") &&
			(n > 0 || strings.Contains(self, name)) {
			return self, want
		}
		return self, ""
	})
}

// A target counts as refused only while it is, no matter which target leaves.
func TestRefusedTargetStartsWhenNameIsFree(t *testing.T) {
	t.Parallel()
	first, second := newFakeServer(t), newFakeServer(t)
	in := func(id, poolID string, server *fakeServer) config.Pool {
		p := metricsPool(id, "r="+server.pageAndAPI())
		p.Discovery.StaticConfigs[0].Labels["pool_id"] = model.LabelValue(poolID)
		return p
	}
	for name, pools := range map[string]struct {
		first, second config.Pool
		id            string
	}{
		"another name":                   {in("p", "shared", first), in("q", "shared", second), "shared"},
		"the waiting pool gets the name": {in("p", "q", first), metricsPool("q", "r="+second.pageAndAPI()), "q"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc := startCollector(t, pools.first)
			tc.waitForPools(1, pools.id)
			tc.apply(pools.first, pools.second)
			tc.waitForRefused(pools.id, 1)
			tc.apply(pools.second)
			tc.waitForRefused(pools.id, 0)
			tc.waitForPools(1, pools.id)
		})
	}
	t.Run("the waiting pool is removed", func(t *testing.T) {
		t.Parallel()
		tc := startCollector(t, metricsPool("p", "r="+first.pageAndAPI()))
		tc.waitForPools(1, "p")
		tc.apply(metricsPool("p", "r="+first.pageAndAPI()), in("q", "p", second))
		tc.waitForRefused("p", 1)
		tc.apply(metricsPool("p", "r="+first.pageAndAPI()))
		tc.waitForRefused("p", 0)
	})
}

func TestReloadKeepsUnchangedTargets(t *testing.T) {
	t.Parallel()
	a, b := newFakeServer(t), newFakeServer(t)
	tc := startCollector(t, metricsPool("p", "a="+a.pageAndAPI()))
	page := tc.waitForPools(1, "p")
	check := requireRawLines(t, "p", rawLines(page, "p"))
	n := tc.waitForScrapes(check, "p", "a", 0)
	// The same again, another pool next to it, and back.
	for _, pools := range [][]config.Pool{
		{metricsPool("p", "a="+a.pageAndAPI())},
		{metricsPool("p", "a="+a.pageAndAPI()), metricsPool("q", "b="+b.pageAndAPI())},
		{metricsPool("p", "a="+a.pageAndAPI())},
	} {
		tc.apply(pools...)
		n = tc.waitForScrapes(check, "p", "a", n)
	}
	// Another target of the pool does not affect the loop of the first one, neither when it is
	// added nor when it is removed.
	tc.apply(metricsPool("p", "a="+a.pageAndAPI(), "b="+b.pageAndAPI()))
	tc.waitForPools(2, "p")
	n = tc.waitForScrapes(nil, "p", "a", n)
	tc.apply(metricsPool("p", "a="+a.pageAndAPI()))
	tc.waitForPools(1, "p")
	tc.waitForScrapes(check, "p", "a", n)
	require.EqualValues(t, 1, a.maxInFlight.Load(), "one scrape at a time")
}

// TestReloadKeepsWhatIsKnown reloads after a server ended, whole or its API alone: it does not become
// one that may be loading. At another address it does.
func TestReloadKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page                  bool // It ends with the API.
		state, movedTo        string
		thenState, thenReason string
	}{
		"a server that ended": {true, "down", "10.0.0.2:1|10.0.0.2:2", "unknown", "has never seen it up"},
		"one that drains":     {false, "draining", "10.0.0.1:1|10.0.0.1:3", "ready", "check api_port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				tc := startWithScraper(t, &fakeScraper{
					page: func(string) (string, error) {
						if c.page && ended.Load() {
							return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
						}
						return tritonPage, nil
					},
					api: func(ctx context.Context, u *url.URL) (int, string, error) {
						if ended.Load() {
							return 0, "", errRefused
						}
						return tritonAPI(ctx, u)
					},
				}, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
				time.Sleep(20 * time.Second)
				require.Equal(t, "ready", tc.status("a").State)
				ended.Store(true)
				time.Sleep(20 * time.Second)
				for i := range 3 {
					require.Equal(t, c.state, tc.status("a").State, "after %d reloads", i)
					changed := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
					changed.TRTLLMVersion = fmt.Sprintf("1.0.%d", i)
					tc.apply(changed)
					time.Sleep(20 * time.Second)
				}
				tc.apply(everySeconds("p", 5, "a="+c.movedTo))
				time.Sleep(20 * time.Second)
				require.Equal(t, c.thenState, tc.status("a").State)
				require.Contains(t, tc.status("a").StateReason, c.thenReason)
			})
		})
	}
}

// TestReloadThatNamesThePathIsOfTheSameServer names the path at which the page of a server was found that ended: it does
// not become one that may be loading.
func TestReloadThatNamesThePathIsOfTheSameServer(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/metrics": "down", "/other": "unknown"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				refusing := refusingScraper()
				p := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
				p.MetricsPath = "" // It is found.
				tc := startWithScraper(t, &fakeScraper{
					page: func(address string) (string, error) {
						if ended.Load() {
							return refusing.page(address)
						}
						return tritonPage, nil
					},
					api: func(ctx context.Context, u *url.URL) (int, string, error) {
						if ended.Load() {
							return refusing.api(ctx, u)
						}
						return tritonAPI(ctx, u)
					},
				}, p)
				time.Sleep(20 * time.Second)
				require.Equal(t, "ready", tc.status("a").State)
				ended.Store(true)
				time.Sleep(20 * time.Second)
				p.MetricsPath = path
				tc.apply(p)
				time.Sleep(20 * time.Second)
				require.Equal(t, want, tc.status("a").State, tc.status("a").StateReason)
			})
		})
	}
}

// Reloads do not postpone the end of the start budget of a replica that never answers.
func TestStartBudgetContinuesAcrossReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := refusingScraper()
		never := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		never.StartBudget = model.Duration(time.Minute)
		tc := startWithScraper(t, p, never)
		for i := range 3 {
			time.Sleep(25 * time.Second)
			require.Equal(
				t,
				map[bool]string{true: "unknown", false: "down"}[i < 2],
				tc.status("a").State,
				"after %d reloads",
				i,
			)
			never.TRTLLMVersion = fmt.Sprintf("1.0.%d", i)
			tc.apply(never)
		}
	})
}

// The budget of a rank without a port begins when it is no longer silent.
func TestStartBudgetBeginsAtFirstAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := refusingScraper()
		rank := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		rank.StartBudget, rank.Silent = model.Duration(time.Minute), true
		tc := startWithScraper(t, p, rank)
		time.Sleep(time.Hour)
		rank.Silent = false
		tc.apply(rank)
		time.Sleep(30 * time.Second)
		require.Equal(t, "unknown", tc.status("a").State)
		time.Sleep(time.Minute)
		require.Equal(t, "down", tc.status("a").State)
	})
}

func TestRemovedPoolHasNoSeries(t *testing.T) {
	t.Parallel()
	a, b := newFakeServer(t), newFakeServer(t)
	tc := startCollector(t, metricsPool("p", "a="+a.pageAndAPI()), metricsPool("q", "b="+b.pageAndAPI()))
	page := tc.waitForPools(1, "p", "q")
	tc.apply(metricsPool("p", "a="+a.pageAndAPI()))
	tc.pollPage("The removed pool leaves", requireRawLines(t, "p", rawLines(page, "p")), func(page string) string {
		if strings.Contains(page, `pool_id="q"`) || strings.Contains(tc.ownMetrics(), `pool_id="q"`) {
			return `absence of pool "q"`
		}
		return ""
	})
}

// TestRemovedTargetLeavesNoConnection has a pool with another target that remains.
func TestRemovedTargetLeavesNoConnection(t *testing.T) {
	t.Parallel()
	stays, leaves := newFakeServer(t), httptest.NewUnstartedServer(body(tritonPage))
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
		p := metricsPool("p", targets...)
		p.HTTP.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: "p"}
		return p
	}
	address := leaves.Listener.Addr().String()
	tc := startCollector(t, withPassword("a="+stays.pageAndAPI(), "b="+address+"|"+address))
	tc.waitForPools(2, "p")
	require.Positive(t, connections.Load())
	tc.apply(withPassword("a=" + stays.pageAndAPI()))
	require.Eventually(t, func() bool { return connections.Load() == 0 }, waitTimeout, pollInterval)
}

func TestP01P02InvalidConfigChangesNothing(t *testing.T) {
	t.Parallel()
	a, b := newFakeServer(t), newFakeServer(t)
	tc := startCollector(t, metricsPool("p", "a="+a.pageAndAPI()))
	check := requireRawLines(t, "p", rawLines(tc.waitForPools(1, "p"), "p"))
	n := tc.waitForScrapes(check, "p", "a", 0)
	bad := metricsPool("z", "b="+b.pageAndAPI())
	bad.HTTP.TLS.CAFile = "/there/is/no/such/file.pem"
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{metricsPool("q", "b="+b.pageAndAPI()), bad}
	cfg.Resolve()
	require.ErrorContains(t, tc.ApplyConfig(&cfg), `pool "z"`)
	tc.waitForScrapes(check, "p", "a", n)
	require.Zero(t, b.scrapes.Load())
}

func TestP03HundredReloadsWithReaders(t *testing.T) {
	t.Parallel()
	a, b := newFakeServer(t), newFakeServer(t)
	tc := startCollector(t, metricsPool("p", "a="+a.pageAndAPI()))
	lines := strings.Count(tritonPage, "\nnv_")
	tc.waitForPools(1, "p")
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
				v := tc.store.Blocks(nil)
				var page strings.Builder
				err := m.Layout(v).WriteText(&page, v, nil)
				if err != nil || strings.Count(rawLines(page.String(), "p"), "\n") != lines {
					t.Errorf("incomplete page: %v\n%s", err, nearestLines(page.String(), `{pool_id="p"`))
					return
				}
				tc.wait(time.Millisecond)
			}
		})
	}
	for i := range 100 {
		p := metricsPool("p", "a="+a.pageAndAPI())
		p.IdentityInterval = model.Duration(time.Duration(100+i%3) * time.Millisecond)
		pools := []config.Pool{p}
		if i%2 == 0 {
			pools = append(pools, metricsPool("q", "b="+b.pageAndAPI()))
		}
		tc.apply(pools...)
		tc.wait(time.Duration(i%4) * time.Millisecond)
	}
	tc.apply(metricsPool("p", "a="+a.pageAndAPI()))
	tc.pollPage("The last configuration holds", nil, func(page string) string {
		if strings.Contains(page, `pool_id="q"`) || len(tc.store.Slots()) != 1 {
			return `absence of pool "q"`
		}
		return ""
	})
	close(stop)
	readers.Wait()
}

// withHTTPDiscovery adds a discovery service to the pool's sources.
func withHTTPDiscovery(p config.Pool, service *fakeServer) config.Pool {
	p.Discovery.HTTPSDConfigs = append(slices.Clone(p.Discovery.HTTPSDConfigs), &promhttp.SDConfig{
		URL:              service.URL,
		RefreshInterval:  model.Duration(time.Second), // An answer that takes longer is a failure, and comes again.
		HTTPClientConfig: promconfig.DefaultHTTPClientConfig,
	})
	return p
}

// Replicas that only a slow source lists stay while a new discovery starts.
func TestReplicasWaitForNewDiscovery(t *testing.T) {
	t.Parallel()
	a, b, c := newFakeServer(t), newFakeServer(t), newFakeServer(t)
	before, after := newFakeServer(t), newFakeServer(t)
	before.setAnswers(nil, targetList("b="+b.pageAndAPI(), "c="+c.pageAndAPI()))
	after.setAnswers(nil, status(http.StatusServiceUnavailable))
	tc := newCollector(t)
	tc.SetGrace(waitTimeout)
	tc.apply(withHTTPDiscovery(metricsPool("p", "a="+a.pageAndAPI()), before))
	tc.start()
	tc.waitForPools(3, "p")
	n := tc.waitForScrapes(nil, "p", "b", 0)
	// The new service does not answer yet; static targets are found immediately.
	tc.apply(withHTTPDiscovery(metricsPool("p", "a="+a.pageAndAPI()), after))
	check := func(page string) {
		for _, replica := range []string{"a", "b"} {
			require.InDelta(t, 1, value(page, targetSeries("target_up", "p", replica)), 0)
		}
	}
	n = tc.waitForScrapes(func(page string) {
		check(page)
		require.InDelta(t, 1, value(page, targetSeries("target_up", "p", "c")), 0)
	}, "p", "b", n)
	after.setAnswers(nil, targetList("b="+b.pageAndAPI()))
	tc.pollPage("What no source names leaves", check, func(page string) string {
		if strings.Contains(page, `replica_id="c"`) {
			return "absence of c"
		}
		return ""
	})
	tc.waitForScrapes(check, "p", "b", n)
}

func TestPoolWithoutDiscoveryIsNotReady(t *testing.T) {
	t.Parallel()
	s, never := newFakeServer(t), newFakeServer(t)
	never.setAnswers(nil, status(http.StatusServiceUnavailable))
	p := metricsPool("p", "a="+s.pageAndAPI())
	tc := startCollector(t, p)
	tc.waitForPools(1, "p")
	require.True(t, tc.Ready(), "the exporter is ready")
	tc.apply(p, withHTTPDiscovery(metricsPool("q"), never))
	require.False(t, tc.Ready(), "as soon as it is configured")
	tc.apply(p)
	require.Eventually(t, tc.Ready, waitTimeout, pollInterval)
}

// Targets of a source that no longer answers are kept for a limited time.
func TestReplicasDoNotWaitForever(t *testing.T) {
	t.Parallel()
	a, b := newFakeServer(t), newFakeServer(t)
	before, never := newFakeServer(t), newFakeServer(t)
	before.setAnswers(nil, targetList("b="+b.pageAndAPI()))
	never.setAnswers(nil, status(http.StatusServiceUnavailable))
	tc := newCollector(t)
	tc.SetGrace(300 * time.Millisecond)
	tc.apply(withHTTPDiscovery(metricsPool("p", "a="+a.pageAndAPI()), before))
	tc.start()
	tc.waitForPools(2, "p")
	tc.apply(withHTTPDiscovery(metricsPool("p", "a="+a.pageAndAPI()), never))
	tc.pollPage("The grace ends", nil, func(page string) string {
		if strings.Contains(page, `replica_id="b"`) {
			return "absence of b"
		}
		return ""
	})
	tc.waitForPools(1, "p")
}

func TestP04RunEndsWithFiftyHangingTargets(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t)
	s.setPage(faultyPage(simulate.FaultHang))
	address := s.pageAndAPI()
	targets := make([]string, 50)
	for i := range targets {
		targets[i] = fmt.Sprintf("r%d=%s", i, address)
	}
	p := apart(metricsPool("p", targets...))
	p.ScrapeTimeout = model.Duration(24 * time.Hour) // The test would not end if it were waited for.
	tc := startCollector(t, p)
	for tc.t.Context().Err() == nil && s.inFlight.Load() < 50 {
		tc.wait(5 * time.Millisecond)
	}
	require.NoError(t, tc.stop())
	require.Empty(t, tc.store.Slots())
	require.EqualValues(t, 50, s.maxInFlight.Load())
}

func TestReloadWithAnotherShardMovesTargets(t *testing.T) {
	t.Parallel()
	var targets []string
	for i := range 20 {
		targets = append(targets, fmt.Sprintf("r%d=10.0.0.%d:1", i, i))
	}
	p := pool("p", targets...)
	p.Silent = true
	first, second := startCollector(t), startCollector(t)
	reload := func(tc *testCollector, total, index int) {
		cfg := config.DefaultFile
		cfg.Pools, cfg.Sharding = []config.Pool{p}, config.Sharding{Total: total, Index: &index}
		cfg.Resolve()
		require.NoError(t, tc.ApplyConfig(&cfg))
	}
	keys := func(lines ...*testCollector) (all []string) {
		for _, l := range lines {
			for _, slot := range l.store.Slots() {
				all = append(all, slot.Target().Key())
			}
		}
		return slices.Sorted(slices.Values(all))
	}
	become := func(want []string, lines ...*testCollector) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(want, keys(lines...)) }, waitTimeout, time.Millisecond)
	}
	reload(first, 1, 0)
	require.Eventually(t, func() bool { return len(keys(first)) == len(targets) }, waitTimeout, time.Millisecond)
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

// The same file is an equal configuration, whatever it contains.
func TestReloadOfSameFileChangesNothing(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t)
	services := newFakeServer(t)
	services.setAnswers(nil, status(http.StatusServiceUnavailable))
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
	tc := newCollector(t)
	read := func() {
		cfg := config.DefaultFile
		require.NoError(t, yaml.Unmarshal([]byte(file), &cfg))
		cfg.Resolve()
		require.NoError(t, cfg.Validate())
		cfg.Pools[0].ScrapeInterval = model.Duration(100 * time.Millisecond)
		cfg.Pools[0].ScrapeTimeout = pool("p").ScrapeTimeout // So long is a page shown by an exporter without CPU time.
		require.NoError(t, tc.ApplyConfig(&cfg))
	}
	read()
	tc.start()
	tc.waitForText(targetSeries("target_up", "p", "r"))
	n := tc.waitForScrapes(nil, "p", "r", 0)
	for range 3 {
		read()
		n = tc.waitForScrapes(nil, "p", "r", n)
	}
}

// A source may wait for the end of a pipe for ever, here that of its password. A reload does without it.
func TestReloadDoesNotWaitForSourceWithoutEnd(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "password")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	stuck := metricsPool("stuck")
	require.NoError(t, yaml.Unmarshal(
		fmt.Appendf(nil, "http_sd_configs: [{url: 'http://127.0.0.1:1', basic_auth: {username: a, password_file: %s}}]", pipe),
		&stuck.Discovery,
	))
	tc := newCollector(t)
	tc.apply(stuck)
	tc.start()
	time.Sleep(100 * time.Millisecond)
	server := newFakeServer(t)
	tc.apply(metricsPool("next", "r="+server.pageAndAPI()))
	tc.waitForText(targetSeries("target_up", "next", "r") + " 1")
	end, err := os.OpenFile(pipe, os.O_RDWR, 0) // It ends what waits, if anything does.
	require.NoError(t, err)
	require.NoError(t, end.Close())
}

// TestLabelsAreNotTheServer has discovery that gives a target another label each time, such as when it was seen last,
// while all requests of its server fail.
func TestLabelsAreNotTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		failed := func() int { return int(time.Since(begin) / time.Second) }
		tc := startWithScraper(t, &fakeScraper{
			page: func(string) (string, error) {
				return fmt.Sprintf(
					"nv_inference_request_success{model=\"m\",version=\"1\"} 7\n"+
						"nv_inference_request_failure{model=\"m\",reason=\"OTHER\",version=\"1\"} %d\n", failed(),
				), nil
			},
			api: tritonAPI,
		}, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
		labelled := func(seen int) config.Pool {
			p := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
			p.Discovery.StaticConfigs[0].Labels["seen"] = model.LabelValue(strconv.Itoa(seen))
			return p
		}
		for n := range 9 {
			time.Sleep(4 * time.Second)
			tc.apply(labelled(n))
		}
		time.Sleep(6 * time.Second)
		status := tc.status("a")
		require.Equal(t, "failing", status.State, status.StateReason)
		require.Greater(t, status.Scrapes, uint64(7), "it goes on counting")
		page := tc.page()
		require.Contains(t, page, `seen="8"`, "the labels are the newest")
		require.NotContains(t, page, `seen="7"`)
		require.Contains(t, page, `trtllm_exporter_target_restarts_total{pool_id="p",replica_id="a"} 0`)
	})
}
