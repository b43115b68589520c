package querycheck_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

const (
	// pageEvery is the time between two pages, pages how many there are, and whole
	// the first that is compared: of a counter that has grown for less than a window
	// before, Prometheus guesses from when, and of sums and counts not the same.
	pageEvery = 5 * time.Second
	pages     = 70
	whole     = 40
	// tolerance is how far a query may be from the gauge, of the gauge.
	tolerance = 1e-6
)

// recorded is a server whose pages go through the rules into Prometheus.
type recorded struct {
	name   string
	kind   engine.Kind
	spec   simulate.Spec
	models []engine.ModelFacts
	// also are lines that the simulated server has not, with the number of the page.
	also    string
	deriver *derive.Deriver
}

// servers have between them every family of which a query gives the same.
func servers() []recorded {
	busy := simulate.DefaultWorkload()
	busy.Rate, busy.ErrorRate = 5, 0.03
	slow := busy
	slow.Rate, slow.OutputTokens = 30, 600
	of := func(name string, kind engine.Kind, as simulate.Kind, load simulate.Workload, models ...engine.ModelFacts) recorded {
		return recorded{name: name, kind: kind, models: models, spec: simulate.Spec{
			Kind: as, Streaming: true, Setup: simulate.Setup{Histograms: true}, Seed: 1, Workload: load, Engine: simulate.Engine{MaxActive: 16, KVBlocks: 1200},
		}}
	}
	model := func(name, backend string, decoupled bool, steps ...string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: "READY", Configured: true, Backend: backend, Decoupled: decoupled, Steps: steps}
	}
	ensemble := model("ensemble", "", true, "preprocessing", "tensorrt_llm", "postprocessing")
	ensemble.Platform = "ensemble"
	triton := []engine.ModelFacts{ensemble, model("preprocessing", "python", false), model("tensorrt_llm", "tensorrtllm", true), model("postprocessing", "python", false)}
	drafts := of("vLLM that drafts", engine.VLLM, simulate.KindVLLM, busy)
	drafts.also = "# TYPE vllm:spec_decode_num_draft_tokens_total counter\nvllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"llama\"} %[1]d00\n" +
		"# TYPE vllm:spec_decode_num_accepted_tokens_total counter\nvllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"llama\"} %[1]d7\n"
	return []recorded{
		drafts,
		of("Triton", engine.Triton, simulate.KindTriton, busy, triton...),
		of("Triton with too much to do", engine.Triton, simulate.KindTriton, slow, triton...),
		of("trtllm-serve", engine.TRTLLMServe, simulate.KindServe, busy),
		of("trtllm-serve with too much to do", engine.TRTLLMServe, simulate.KindServe, slow),
		of("NIM", engine.NIM, simulate.KindNIM, busy),
		of("Dynamo", engine.Dynamo, simulate.KindDynamo, busy),
		of("vLLM", engine.VLLM, simulate.KindVLLM, busy),
		of("SGLang", engine.SGLang, simulate.KindSGLang, busy),
	}
}

// into lets the server work and has Prometheus scrape what is derived of it.
func (r *recorded) into(t *testing.T, db *tsdb.DB) {
	t.Helper()
	replica, err := simulate.NewReplica(r.spec)
	require.NoError(t, err)
	e, ok := engine.ByName(string(r.kind))
	require.True(t, ok)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	r.deriver = derive.NewDeriver(derive.Options{Window: time.Minute, Interval: pageEvery, Engine: e})
	var read *engine.Page
	for n := range pages {
		replica.Advance(pageEvery)
		page, truth := replica.Observe()
		if r.also != "" {
			page = fmt.Appendf(page, r.also, n)
		}
		raw, err := cache.Parse(page, "")
		require.NoError(t, err)
		if read == nil || read.Shape() != raw.Shape() {
			read = engine.ReadPage(e, raw)
			r.deriver.Identify(derive.Identity{
				Labels:   labels.FromStrings("engine", string(r.kind), "pool_id", "p", "replica_id", "r"),
				Topology: engine.NewTopology(e, read.NamedModels(), r.models, nil),
			})
		} else {
			read.Refresh(raw)
		}
		r.deriver.Observe(truth.At, raw, read)
		out := r.deriver.Render(raw)
		app := db.Appender(t.Context())
		for line := range out.Shape().Lines() {
			if v, shown := out.Value(line); shown {
				_, err := app.Append(0, out.Shape().Labels(line), truth.At.Milliseconds(), v)
				require.NoError(t, err)
			}
		}
		require.NoError(t, app.Commit())
	}
}

// answers are what a query has by series and time, without the name.
type answers map[string]map[int64]float64

// ask evaluates a query at each page whose window is whole.
func ask(ctx context.Context, t *testing.T, db *tsdb.DB, query string) answers {
	t.Helper()
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	q, err := e.NewRangeQuery(ctx, db, nil, query, time.UnixMilli(whole*pageEvery.Milliseconds()), time.UnixMilli(pages*pageEvery.Milliseconds()), pageEvery)
	require.NoError(t, err, query)
	defer q.Close()
	result, err := q.Exec(ctx).Matrix()
	require.NoError(t, err, query)
	all := make(answers)
	for _, s := range result {
		of := make(map[int64]float64)
		for _, p := range s.Floats {
			if !math.IsNaN(p.F) {
				of[p.T] = p.F
			}
		}
		all[labels.NewBuilder(s.Metric).Del(model.MetricNameLabel, "percentile").Labels().String()] = of
	}
	return all
}

// TestCatalogQueriesMatchGauges evaluates what the catalogue calls the same
// in PromQL on the pages of servers, over the samples that the window has: a range
// of one minute and one page, for Prometheus leaves out what is at its beginning.
func TestCatalogQueriesMatchGauges(t *testing.T) {
	t.Parallel()
	compared := make(map[string]int)
	for _, r := range servers() {
		db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, tsdb.DefaultOptions(), nil)
		require.NoError(t, err)
		r.into(t, db)
		for _, f := range derive.Catalogue() {
			if f.InPromQL.Query == "" {
				continue
			}
			query := strings.ReplaceAll(f.InPromQL.Query, "[1m]", "[65s]")
			if !strings.HasSuffix(f.Name, "_percentile_seconds") {
				compared[f.Name] += same(t, r.name+": "+f.Name, ask(t.Context(), t, db, f.Name), ask(t.Context(), t, db, query), true)
				continue
			}
			for percent, quantile := range map[string]string{"50": "0.5", "95": "0.95", "99": "0.99"} {
				gauge := ask(t.Context(), t, db, f.Name+`{percentile="`+percent+`"}`)
				compared[f.Name] += same(t, r.name+": "+f.Name+" "+percent, gauge, ask(t.Context(), t, db, strings.ReplaceAll(query, "0.95", quantile)), false)
			}
		}
		require.NoError(t, db.Close())
	}
	for _, f := range derive.Catalogue() {
		if f.InPromQL.Query != "" {
			t.Logf("%6d values of %s", compared[f.Name], f.Name)
			require.Positive(t, compared[f.Name], "no server has %s", f.Name)
		}
	}
}

// same compares each value of a gauge with that of the query, and where both must be
// there each of the query to the gauge; it returns how many there were.
func same(t *testing.T, name string, gauge, query answers, both bool) (n int) {
	t.Helper()
	for series, values := range gauge {
		for at, want := range values {
			got, there := query[series][at]
			require.True(t, there, "%s: the query has no value of %s at %d", name, series, at)
			require.InDelta(t, want, got, tolerance*math.Max(math.Abs(want), tolerance), "%s: %s at %d", name, series, at)
			n++
		}
	}
	for series, values := range query {
		for at := range values {
			if _, there := gauge[series][at]; both && !there {
				require.Fail(t, "a value too many", "%s: only the query has %s at %d", name, series, at)
			}
		}
	}
	return n
}
