package collector_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// declaredExamples are the shipped files of kinds.
func declaredExamples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../docs/examples/kinds/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// declaredPages returns the names of the pages of an example's server: one, or one for each of its releases
// that mean something else.
func declaredPages(t *testing.T, file string) (names []string) {
	t.Helper()
	kind := strings.TrimSuffix(filepath.Base(file), ".yml")
	files, err := filepath.Glob(filepath.Join("testdata", "declared", kind+"*.prom"))
	require.NoError(t, err)
	require.NotEmpty(t, files, kind)
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".prom"))
	}
	return names
}

// declaredPage returns a page of an example's server, and the one after twice as much work.
func declaredPage(t *testing.T, name string) (page, later string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "declared", name+".prom"))
	require.NoError(t, err)
	return string(text), afterTwice(t, string(text))
}

// afterTwice doubles the counters and histograms of a page.
func afterTwice(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	grows := false
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			grows = !strings.Contains(rest, " gauge")
		}
		at := strings.LastIndexByte(line, ' ')
		if !grows || line[0] == '#' {
			b.WriteString(line)
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		require.NoError(t, err, line)
		fmt.Fprintf(&b, "%s %v\n", line[:at], 2*value)
	}
	return b.String()
}

// TestShippedKinds plays a page of each server to its shipped file. Golden files have all that is derived
// from it, and what is said of the rest.
func TestShippedKinds(t *testing.T) {
	t.Parallel()
	for _, file := range declaredExamples(t) {
		for _, name := range declaredPages(t, file) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kinds, err := config.LoadKinds(file)
				require.NoError(t, err)
				page, later := declaredPage(t, name)
				found := kinds.FromPage([]byte(page))
				kind, ok := kinds.Named(string(found.Kind))
				require.True(t, ok, found.Kind)
				text := fmt.Sprintf("%s: %s\n\n%s", found.Kind, found.Evidence, derived(t, kind, page, later))
				fixture.RequireFile(t, filepath.Join("testdata", "declared", name+".txt"), text)
			})
		}
	}
}

// derived returns what follows from two pages of a kind, ten seconds apart, and what is said of it.
func derived(t *testing.T, kind *engine.Kind, first, second string) string {
	t.Helper()
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(kind)})
	var deriver *derive.Deriver
	var page *engine.Page
	var series *exposition.Block
	for n, body := range []string{first, second} {
		block, err := cache.Parse([]byte(body), "", nil)
		require.NoError(t, err)
		page = engine.ReadNext(kind, block, page)
		if deriver == nil {
			deriver = derive.NewDeriver(derive.Options{
				Window: time.Minute, Interval: 10 * time.Second, Engine: kind,
				Naming: derive.Naming{
					Labels:   labels.FromStrings("engine", string(kind.Name)),
					Topology: engine.NewTopology(kind, page.NamedModels(), nil, nil),
				},
			})
		}
		deriver.Observe(deriver.Sight(time.Duration(n)*10*time.Second, block, page, derive.Opened))
		series = deriver.Render(block)
	}
	return shown(series) + "\n" + judged(kind, page)
}

// shown returns the series of a block that have a value, without buckets.
func shown(b *exposition.Block) string {
	var lines []string
	for i := range b.Shape().Lines() {
		lset := b.Shape().Labels(i)
		if v, ok := b.Value(i); ok && !strings.HasSuffix(lset.Get(model.MetricNameLabel), "_bucket") {
			lines = append(lines, fmt.Sprintf("%s %.6g\n", lset, v))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func judged(kind *engine.Kind, page *engine.Page) string {
	var b strings.Builder
	known := engine.Knowledge{Page: page, Health: engine.Health{API: engine.APIReady}}
	for _, c := range engine.Capabilities(kind, &known) {
		fmt.Fprintf(&b, "%s: %v, %s\n", c.Name, c.OK, c.Reason)
	}
	return b.String()
}

// ownKind declares a kind of server that nobody ships, and otherKind another one.
const (
	ownKind = `kinds:
  - name: own
    prefix: "own:"
    paths: { health: /health, models: /v1/models }
    models_owned_by: own
    openai: true
    series:
      - { name: running, signal: requests_running }
      - { name: ended_total, signal: requests_finished_total, labels: { finish_reason: reason }, classes: { error: server } }
`
	otherKind = `  - name: other
    prefix: "other:"
    series: [ { name: running, signal: requests_running } ]
`
)

// ownPage returns a page of the own kind after some requests failed.
func ownPage(failed int64) string {
	return fmt.Sprintf("# TYPE own:running gauge\nown:running{model_name=\"m\"} 4\n"+
		"# TYPE own:unread gauge\nown:unread{model_name=\"m\"} 2\n"+
		"# TYPE own:ended_total counter\nown:ended_total{model_name=\"m\",reason=\"stop\"} 36\n"+
		"own:ended_total{model_name=\"m\",reason=\"error\"} %d\n", failed)
}

// ownServer is a server of the own kind, with more answers.
func ownServer(t *testing.T, more map[string]http.HandlerFunc) *fakeServer {
	t.Helper()
	answers := map[string]http.HandlerFunc{
		"/metrics":   body(ownPage(1)),
		"/health":    bodyOfType("application/json", `{"status":"healthy"}`),
		"/v1/models": bodyOfType("application/json", `{"data":[{"id":"m","owned_by":"own"}]}`),
	}
	maps.Copy(answers, more)
	s := newFakeServer(t)
	s.setAnswers(answers, http.NotFound)
	return s
}

func kindsOf(t *testing.T, text string) *engine.Kinds {
	t.Helper()
	kinds, err := config.ParseKinds("kinds.yml", []byte(text))
	require.NoError(t, err)
	return kinds
}

// applyKinds applies a configuration that has these kinds.
func (tc *testCollector) applyKinds(kinds *engine.Kinds, pools ...config.Pool) {
	tc.t.Helper()
	cfg := config.DefaultFile
	cfg.Pools, cfg.Kinds = pools, kinds
	cfg.Resolve()
	require.NoError(tc.t, tc.ApplyConfig(&cfg))
}

// TestKindsChangeWithReload declares a kind while its server is scraped, and takes it back. A server of another
// kind keeps its replica all the while.
func TestKindsChangeWithReload(t *testing.T) {
	t.Parallel()
	stranger, triton := ownServer(t, nil), newFakeServer(t)
	pools := []config.Pool{pool("p", "a="+stranger.address()), metricsPool("q", "b="+triton.pageAndAPI())}
	tc := startCollector(t, pools...)
	tc.waitForState("a", "silent", "neither its page nor its API shows a known kind")
	tc.waitForText(targetSeries("target_up", "q", "b"))
	n := tc.waitForScrapes(nil, "q", "b", 0)

	tc.applyKinds(kindsOf(t, ownKind), pools...)
	ready := tc.waitForState("a", "ready", "the API answers 200")
	require.Equal(t, "own", ready.DetectedEngine)
	tc.waitForText(`llm_server_requests_running{engine="own"`, `own:unread{engine="own"`)
	n = tc.waitForScrapes(nil, "q", "b", n)

	tc.applyKinds(kindsOf(t, ownKind+otherKind), pools...)
	tc.waitForState("a", "ready", "the API answers 200")
	n = tc.waitForScrapes(nil, "q", "b", n)

	tc.applyKinds(engine.BuiltIn(), pools...)
	tc.waitForState("a", "silent", "neither its page nor its API shows a known kind")
	tc.waitForScrapes(nil, "q", "b", n)
}

// failingServer is a server of the own kind at which only failures end, whatever it answers to requests.
func failingServer(t *testing.T, answer http.HandlerFunc) *fakeServer {
	t.Helper()
	var failed atomic.Int64
	return ownServer(t, map[string]http.HandlerFunc{
		"/metrics":             func(w http.ResponseWriter, req *http.Request) { body(ownPage(10*failed.Add(1)))(w, req) },
		"/v1/chat/completions": answer,
	})
}

// TestDeclaredKindIsSuspectedNotConvicted lets only failures end at a server of a declared kind: nothing but a
// question to it convicts it.
func TestDeclaredKindIsSuspectedNotConvicted(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) }
	unasked, asked := failingServer(t, broken), failingServer(t, broken)
	confirms := pool("q", "b="+asked.address())
	confirms.Canary.Confirm = true
	tc := newCollector(t)
	tc.applyKinds(kindsOf(t, ownKind), pool("p", "a="+unasked.address()), confirms)
	tc.start()
	suspected := tc.waitForState("a", "ready", "all requests are failing, as far as its kinds_file is right")
	require.True(t, suspected.Suspected, "suspected, %s", suspected.StateReason)
	require.True(t, suspected.ProbeReady, "ready for the probe, %s", suspected.StateReason)
	require.True(t, suspected.ProbeLive, "live for the probe, %s", suspected.StateReason)
	convicted := tc.waitForState("b", "failing", "the exporter's own request failed")
	require.False(t, convicted.ProbeReady, "not ready for the probe, %s", convicted.StateReason)
	require.False(t, convicted.ProbeLive, "not live for the probe, %s", convicted.StateReason)
}

// BenchmarkDeclaredKind reads pages of one shape of vLLM, and of a declared kind with other names for the same.
func BenchmarkDeclaredKind(b *testing.B) {
	kinds, err := config.LoadKinds("../docs/examples/kinds/kserve-vllm.yml")
	require.NoError(b, err)
	text, err := os.ReadFile("testdata/declared/kserve-vllm.prom")
	require.NoError(b, err)
	pages := map[string][]byte{
		"vllm":        []byte(strings.ReplaceAll(string(text), "kserve_vllm:", "vllm:")),
		"kserve-vllm": text,
	}
	for _, name := range []string{"vllm", "kserve-vllm"} {
		b.Run(name, func(b *testing.B) {
			kind, _ := kinds.Named(name)
			cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(kind)})
			block, err := cache.Parse(pages[name], "", nil)
			require.NoError(b, err)
			page := engine.ReadPage(kind, block)
			deriver := derive.NewDeriver(derive.Options{
				Window: time.Minute, Interval: 5 * time.Second, Engine: kind,
				Naming: derive.Naming{Topology: engine.NewTopology(kind, page.NamedModels(), nil, nil)},
			})
			for n := 0; b.Loop(); n++ {
				block, _ = cache.Parse(pages[name], "", nil)
				page.Refresh(block)
				deriver.Observe(deriver.Sight(time.Duration(n)*5*time.Second, block, page, derive.Opened))
				deriver.Render(block)
			}
		})
	}
}
