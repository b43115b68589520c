package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// bench reads pages of one target and derives from them.
type bench struct {
	// connection is the one over which the next page comes.
	connection derive.Connection
	tb         testing.TB
	engine     *engine.Kind
	cache      *exposition.Cache
	label      *exposition.Labeler
	opts       derive.Options
	deriver    *derive.Deriver
	// now is when the next page comes, took how long it takes, age how long a cache had it.
	now, took, age time.Duration
	// out holds the series of the newest page, shape and names the names of series.
	out   *exposition.Block
	shape *exposition.Shape
	names []string
}

// conditions returns what the pages say for and against the target.
func (b *bench) conditions() derive.Conditions { return b.deriver.Conditions(time.Unix(0, 0).Add) }

// newBench returns a target of a kind that is scraped every five seconds. Model ids are
// the server's own names.
func newBench(tb testing.TB, kind engine.Name, models ...string) *bench {
	tb.Helper()
	e, ok := engine.ByName(string(kind))
	require.True(tb, ok, "%s is a kind", kind)
	b := &bench{tb: tb, engine: e, cache: exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})}
	return b.with(func(o *derive.Options) {
		o.Window, o.Interval, o.Engine = time.Minute, scrapeEvery, e
		o.Naming = derive.Naming{
			Labels:        labels.FromStrings("pool_id", "p", "replica_id", "r"),
			EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0", Source: engine.SourceTable,
			Topology: engine.NewTopology(e, engine.NamedModels{Names: models}, nil, nil),
		}
	})
}

// with changes the options and starts again.
func (b *bench) with(change func(*derive.Options)) *bench {
	change(&b.opts)
	b.deriver = derive.NewDeriver(b.opts)
	return b
}

// facts sets the server's answers about its models.
func (b *bench) facts(models ...engine.ModelFacts) *bench {
	return b.with(func(o *derive.Options) {
		var names []string
		for _, m := range models {
			names = append(names, m.Name)
		}
		o.Naming.EngineVersion = ""
		o.Naming.Topology = engine.NewTopology(b.engine, engine.NamedModels{Names: names}, models, nil)
	})
}

// release sets the version of the server.
func (b *bench) release(version string) *bench {
	return b.with(func(o *derive.Options) { o.Naming.EngineVersion = version })
}

// configured returns a model with a known config.
func configured(name, backend string, decoupled bool) engine.ModelFacts {
	return engine.ModelFacts{Name: name, State: "READY", Configured: true, Backend: backend, Decoupled: decoupled}
}

// settled derives from the same page until what is computed as a difference is settled.
func (b *bench) settled(lines ...string) values {
	b.tb.Helper()
	for range 3 {
		b.page(lines...)
	}
	return b.page(lines...)
}

// page derives from one page and returns the derived values by series, without identity labels.
func (b *bench) page(lines ...string) values {
	b.tb.Helper()
	return b.read([]byte(strings.Join(lines, "\n") + "\n"))
}

// read derives from the text of a page, five seconds before the next one.
func (b *bench) read(page []byte) values {
	b.tb.Helper()
	raw, err := b.cache.Parse(page, "", b.label)
	require.NoError(b.tb, err)
	b.out = b.deriver.DeriveLate(b.now-b.age, b.took, b.age, raw, b.connection)
	b.connection, b.took, b.age = derive.Kept, 0, 0
	b.now += scrapeEvery
	return b.values()
}

// values returns the derived values by series, without identity labels.
func (b *bench) values() values {
	if shape := b.out.Shape(); shape != b.shape {
		b.shape, b.names = shape, nil
		for n := range shape.Lines() {
			lset := shape.Labels(n)
			own := labels.NewBuilder(lset).Del("pool_id", "replica_id", model.MetricNameLabel).Labels()
			b.names = append(b.names, strings.TrimPrefix(lset.Get(model.MetricNameLabel), derive.Prefix)+own.String())
		}
	}
	all := make(values, len(b.names))
	for n, series := range b.names {
		if v, ok := b.out.Value(n); ok {
			all[series] = v
		}
	}
	return all
}

// labels returns the labels of the derived series.
func (b *bench) labels() (all []labels.Labels) {
	for n := range b.out.Shape().Lines() {
		if _, ok := b.out.Value(n); ok {
			all = append(all, b.out.Shape().Labels(n))
		}
	}
	return all
}

// replaceLines replaces the values of series in lines, and adds those that are not there.
func replaceLines(lines []string, changed ...string) []string {
	out := slices.Clone(lines)
	for _, c := range changed {
		series := c[:strings.LastIndexByte(c, ' ')+1]
		if i := slices.IndexFunc(out, func(l string) bool { return strings.HasPrefix(l, series) }); i >= 0 {
			out[i] = c
		} else {
			out = append(out, c)
		}
	}
	return out
}

// without returns the lines that do not contain a text.
func without(lines []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.Contains(l, text) })
}

// histogram returns the lines of a histogram: its labels and sum, and for each bound how
// many observations it has, of which the last are all.
func histogram[T any](name, lset string, sum any, bounds string, counts ...T) (lines []string) {
	for i, le := range strings.Fields(bounds) {
		lines = append(lines, fmt.Sprintf("%s_bucket{%s,le=%q} %v", name, lset, le, counts[i]))
	}
	return append(
		lines,
		fmt.Sprintf("%s_sum{%s} %v", name, lset, sum),
		fmt.Sprintf("%s_count{%s} %v", name, lset, counts[len(counts)-1]),
	)
}

// rig is a simulated replica with a deriver.
type rig struct {
	*bench

	replica *simulate.Replica
	id      string
}

// newRig returns a simulated replica and a deriver for its pages.
func newRig(tb testing.TB, spec simulate.Spec) *rig {
	tb.Helper()
	replica, err := simulate.NewReplica(spec)
	require.NoError(tb, err)
	spec = replica.Spec()
	kind, facts := described(spec)
	b := newBench(tb, kind).facts(facts...).
		with(func(o *derive.Options) { o.Naming.EngineVersion = spec.EngineVersion })
	return &rig{b, replica, b.opts.Naming.Topology.ModelID(facts[0].Name)}
}

// described returns the kind of server that a replica is, and what it would answer
// about its models, the one that clients call first.
func described(spec simulate.Spec) (engine.Name, []engine.ModelFacts) {
	served := []engine.ModelFacts{{Name: spec.Model, State: "READY"}}
	switch spec.Kind {
	case simulate.KindServe, simulate.KindServeGen2, simulate.KindServeOld:
		return engine.TRTLLMServe, served
	case simulate.KindNIM:
		return engine.NIM, served
	case simulate.KindDynamo:
		return engine.Dynamo, served
	case simulate.KindVLLM:
		return engine.VLLM, served
	case simulate.KindSGLang:
		return engine.SGLang, served
	case simulate.KindTritonLLMAPI, simulate.KindTritonLLMAPIModule:
		return engine.Triton, []engine.ModelFacts{configured("tensorrt_llm", "python", true)}
	case simulate.KindTritonVLLM:
		return engine.Triton, []engine.ModelFacts{configured("vllm_model", "vllm", true)}
	case simulate.KindTritonCore:
		return engine.Triton, []engine.ModelFacts{
			configured("resnet50", "onnxruntime", false),
			configured("densenet_onnx", "onnxruntime", false),
		}
	default:
	}
	backend := "tensorrtllm"
	if spec.Kind == simulate.KindTritonPython {
		backend = "python"
	}
	ensemble := configured("ensemble", "", spec.Streaming)
	ensemble.Platform, ensemble.Steps = "ensemble", []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	bls := configured("tensorrt_llm_bls", "python", spec.Streaming)
	bls.Calls = []string{"tensorrt_llm"}
	return engine.Triton, []engine.ModelFacts{
		ensemble, configured("postprocessing", "python", false), configured("preprocessing", "python", false),
		configured("tensorrt_llm", backend, spec.Streaming), bls,
	}
}

// scrape derives from the current page and returns the values by series and the truth,
// or nil while the server refuses.
func (r *rig) scrape() (values, simulate.Truth) {
	r.tb.Helper()
	page, truth := r.replica.Observe()
	if r.now = truth.At; page == nil {
		return nil, truth
	}
	return r.read(page), truth
}

// serve scrapes some pages and returns the values of the last.
func (r *rig) serve(pages int) (got values) {
	r.tb.Helper()
	for range pages {
		r.replica.Advance(scrapeEvery)
		got, _ = r.scrape()
	}
	return got
}

// values holds the values of a block by series, without identity labels.
type values map[string]float64

// get returns the value of a series, which must exist; why is the message if it does not.
func (v values) get(t *testing.T, series string, why ...any) float64 {
	t.Helper()
	value, ok := v[series]
	if !ok {
		require.Fail(t, "no "+series+"; the nearest are\n"+strings.Join(v.near(series), "\n"), why...)
	}
	return value
}

// lacks requires that a series is absent.
func (v values) lacks(t *testing.T, series string, why ...any) {
	t.Helper()
	if value, ok := v[series]; ok {
		require.Fail(t, fmt.Sprintf("%s is %v", series, value), why...)
	}
}

// count returns how many series begin with a text.
func (v values) count(prefix string) (n int) {
	for series := range v {
		if strings.HasPrefix(series, prefix) {
			n++
		}
	}
	return n
}

// near returns the series of the same family.
func (v values) near(series string) (all []string) {
	family, _, _ := strings.Cut(series, "{")
	for other := range v {
		if strings.HasPrefix(other, family) {
			all = append(all, other)
		}
	}
	return all
}

// entryValue returns the value of a family of the entry model.
func (r *rig) entryValue(values map[string]float64, family string) (float64, bool) {
	v, ok := values[r.series(values, family, "")]
	return v, ok
}

// hasSeries reports whether a series has a value.
func hasSeries(values map[string]float64, series string) bool {
	_, ok := values[series]
	return ok
}

// series returns the name of the series of a family of the entry model, with further
// labels: of Triton it names the model too.
func (r *rig) series(values map[string]float64, family, more string) string {
	plain := fmt.Sprintf(`%s{model_id=%q%s}`, family, r.id, more)
	if own := fmt.Sprintf(`%s{model=%q, model_id=%q%s, version="1"}`, family, r.id, r.id, more); hasSeries(
		values,
		own,
	) {
		return own
	}
	return plain
}
