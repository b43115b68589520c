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
	// pageEvery is the time between pages. Values are compared from page whole on: before
	// that a counter has grown for less than a window, and Prometheus extrapolates sums and
	// counts differently.
	pageEvery = 5 * time.Second
	pages     = 70
	whole     = 40
	// tolerance is the allowed relative error of a query.
	tolerance = 1e-6
)

// recorded is a server whose derived series are stored in Prometheus.
type recorded struct {
	name   string
	kind   engine.Name
	spec   simulate.Spec
	models []engine.ModelFacts
	// extra is a format for additional lines of a page, with the page's number.
	extra   string
	deriver *derive.Deriver
}

// servers returns servers that together have every family with an equivalent query.
func servers() []recorded {
	busy := simulate.DefaultWorkload()
	busy.Rate, busy.ErrorRate = 5, 0.03
	slow := busy
	slow.Rate, slow.OutputTokens = 30, 600
	server := func(name string, kind engine.Name, as simulate.Kind, load simulate.Workload, models ...engine.ModelFacts) recorded {
		return recorded{name: name, kind: kind, models: models, spec: simulate.Spec{
			Kind:      as,
			Streaming: true,
			Setup:     simulate.Setup{Histograms: true},
			Seed:      1,
			Workload:  load,
			Engine:    simulate.Engine{MaxActive: 16, KVBlocks: 1200},
		}}
	}
	model := func(name, backend string, decoupled bool, steps ...string) engine.ModelFacts {
		return engine.ModelFacts{
			Name:       name,
			State:      "READY",
			Configured: true,
			Backend:    backend,
			Decoupled:  decoupled,
			Steps:      steps,
		}
	}
	ensemble := model("ensemble", "", true, "preprocessing", "tensorrt_llm", "postprocessing")
	ensemble.Platform = "ensemble"
	triton := []engine.ModelFacts{
		ensemble, model("preprocessing", "python", false), model("tensorrt_llm", "tensorrtllm", true),
		model("postprocessing", "python", false),
	}
	drafts := server("vLLM with speculative decoding", engine.VLLM, simulate.KindVLLM, busy)
	drafts.extra = "# TYPE vllm:spec_decode_num_draft_tokens_total counter\n" +
		"vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"llama\"} %[1]d00\n" +
		"# TYPE vllm:spec_decode_num_accepted_tokens_total counter\n" +
		"vllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"llama\"} %[1]d7\n"
	return []recorded{
		drafts,
		server("Triton", engine.Triton, simulate.KindTriton, busy, triton...),
		server("Triton, overloaded", engine.Triton, simulate.KindTriton, slow, triton...),
		server("trtllm-serve", engine.TRTLLMServe, simulate.KindServe, busy),
		server("trtllm-serve, overloaded", engine.TRTLLMServe, simulate.KindServe, slow),
		server("NIM", engine.NIM, simulate.KindNIM, busy),
		server("Dynamo", engine.Dynamo, simulate.KindDynamo, busy),
		server("vLLM", engine.VLLM, simulate.KindVLLM, busy),
		server("SGLang", engine.SGLang, simulate.KindSGLang, busy),
	}
}

// store runs the server and stores its derived series.
func (r *recorded) store(t *testing.T, db *tsdb.DB) {
	t.Helper()
	replica, err := simulate.NewReplica(r.spec)
	require.NoError(t, err)
	e, ok := engine.ByName(string(r.kind))
	require.True(t, ok, "%s is a kind", r.kind)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	r.deriver = derive.NewDeriver(derive.Options{Window: time.Minute, Interval: pageEvery, Engine: e})
	var read *engine.Page
	for n := range pages {
		replica.Advance(pageEvery)
		page, truth := replica.Observe()
		if r.extra != "" {
			page = fmt.Appendf(page, r.extra, n)
		}
		raw, err := cache.Parse(page, "", nil)
		require.NoError(t, err)
		if read == nil || read.Shape() != raw.Shape() {
			read = engine.ReadPage(e, raw)
			r.deriver.Rename(derive.Naming{
				Labels:   labels.FromStrings("engine", string(r.kind), "pool_id", "p", "replica_id", "r"),
				Topology: engine.NewTopology(e, read.NamedModels(), r.models, nil),
			})
		} else {
			read.Refresh(raw)
		}
		r.deriver.Observe(r.deriver.Sight(truth.At, raw, read, derive.Kept))
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

// answers holds the values of a query by series, without the name, and time.
type answers map[string]map[int64]float64

// ask evaluates a query at each page from whole on.
func ask(ctx context.Context, t *testing.T, db *tsdb.DB, query string) answers {
	t.Helper()
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000,
		Timeout:    time.Minute,
		Parser:     parser.NewParser(parser.Options{}),
	})
	q, err := e.NewRangeQuery(
		ctx,
		db,
		nil,
		query,
		time.UnixMilli(whole*pageEvery.Milliseconds()),
		time.UnixMilli(pages*pageEvery.Milliseconds()),
		pageEvery,
	)
	require.NoError(t, err, query)
	defer q.Close()
	result, err := q.Exec(ctx).Matrix()
	require.NoError(t, err, query)
	all := make(answers)
	for _, s := range result {
		values := make(map[int64]float64)
		for _, p := range s.Floats {
			if !math.IsNaN(p.F) {
				values[p.T] = p.F
			}
		}
		all[labels.NewBuilder(s.Metric).Del(model.MetricNameLabel, "percentile").Labels().String()] = values
	}
	return all
}

// TestCatalogQueriesMatchGauges evaluates the queries of the catalog on the pages of
// servers, over the samples in the window: the range is a minute and a page, because
// Prometheus excludes its start.
func TestCatalogQueriesMatchGauges(t *testing.T) {
	t.Parallel()
	compared := make(map[string]int)
	for _, r := range servers() {
		db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, tsdb.DefaultOptions(), nil)
		require.NoError(t, err)
		r.store(t, db)
		for _, f := range derive.Catalogue() {
			if f.InPromQL.Query == "" {
				continue
			}
			query := strings.ReplaceAll(f.InPromQL.Query, "[1m]", "[65s]")
			// Times have no value where errors are observed like answers, which a query cannot know.
			both := !strings.HasSuffix(f.Name, "_average_seconds") && !strings.HasSuffix(f.Name, "_above_bound_ratio")
			if !strings.HasSuffix(f.Name, "_percentile_seconds") {
				compared[f.Name] += requireSame(
					t,
					r.name+": "+f.Name,
					ask(t.Context(), t, db, f.Name),
					ask(t.Context(), t, db, query),
					both,
				)
				continue
			}
			for percent, quantile := range map[string]string{"50": "0.5", "95": "0.95", "99": "0.99"} {
				gauge := ask(t.Context(), t, db, f.Name+`{percentile="`+percent+`"}`)
				compared[f.Name] += requireSame(
					t,
					r.name+": "+f.Name+" "+percent,
					gauge,
					ask(t.Context(), t, db, strings.ReplaceAll(query, "0.95", quantile)),
					false,
				)
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

// requireSame requires that the query has every value of the gauge, and with both also the
// reverse. It returns the number of compared values.
func requireSame(t *testing.T, name string, gauge, query answers, both bool) (n int) {
	t.Helper()
	for series, values := range gauge {
		for ms, want := range values {
			got, found := query[series][ms]
			require.True(t, found, "%s: the query has no value of %s at %d", name, series, ms)
			require.InDelta(
				t,
				want,
				got,
				tolerance*math.Max(math.Abs(want), tolerance),
				"%s: %s at %d",
				name,
				series,
				ms,
			)
			n++
		}
	}
	for series, values := range query {
		for ms := range values {
			if _, found := gauge[series][ms]; both && !found {
				require.Fail(t, "an additional value", "%s: only the query has %s at %d", name, series, ms)
			}
		}
	}
	return n
}
