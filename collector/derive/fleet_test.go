package derive_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// rig is a simulated replica with a deriver behind it.
type rig struct {
	tb      testing.TB
	replica *simulate.Replica
	cache   *exposition.Cache
	deriver *derive.Deriver
	id      string
	shown   shown
}

// newRig returns a simulated replica and a deriver for its pages, once per interval.
func newRig(tb testing.TB, spec simulate.Spec, interval time.Duration) *rig {
	tb.Helper()
	replica, err := simulate.NewReplica(spec)
	require.NoError(tb, err)
	spec = replica.Spec()
	kind, facts := described(spec)
	e, ok := engine.ByName(string(kind))
	require.True(tb, ok)
	var names []string
	for _, f := range facts {
		names = append(names, f.Name)
	}
	topology := engine.NewTopology(e, engine.NamedModels{Names: names}, facts, nil)
	r := &rig{tb: tb, replica: replica, id: topology.ModelID(facts[0].Name)}
	r.deriver = derive.NewDeriver(derive.Options{
		Window: time.Minute, Interval: interval, Engine: e,
		Identity: derive.Identity{
			Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), EngineVersion: spec.EngineVersion,
			TRTLLMVersion: spec.TRTLLMVersion, Source: engine.SourceConfig, Topology: topology,
		},
	})
	r.cache = exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	return r
}

// described returns the kind of server that a replica is, and what it would answer
// about its models, the one that clients call first.
func described(spec simulate.Spec) (engine.Kind, []engine.ModelFacts) {
	model := func(name, backend string, decoupled bool) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: "READY", Configured: true, Backend: backend, Decoupled: decoupled}
	}
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
		return engine.Triton, []engine.ModelFacts{model("tensorrt_llm", "python", true)}
	case simulate.KindTritonVLLM:
		return engine.Triton, []engine.ModelFacts{model("vllm_model", "vllm", true)}
	case simulate.KindTritonCore:
		return engine.Triton, []engine.ModelFacts{model("resnet50", "onnxruntime", false), model("densenet_onnx", "onnxruntime", false)}
	default:
	}
	backend := "tensorrtllm"
	if spec.Kind == simulate.KindTritonPython {
		backend = "python"
	}
	ensemble := model("ensemble", "", spec.Streaming)
	ensemble.Platform, ensemble.Steps = "ensemble", []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	bls := model("tensorrt_llm_bls", "python", spec.Streaming)
	bls.Calls = []string{"tensorrt_llm"}
	return engine.Triton, []engine.ModelFacts{
		ensemble, model("postprocessing", "python", false), model("preprocessing", "python", false),
		model("tensorrt_llm", backend, spec.Streaming), bls,
	}
}

// scrape derives from the current page and returns the values by series and the truth,
// or nil while the server refuses.
func (r *rig) scrape() (values, simulate.Truth) {
	r.tb.Helper()
	page, truth := r.replica.Observe()
	return r.page(truth.At, page), truth
}

// page derives from a page at a given time.
func (r *rig) page(at time.Duration, page []byte) values {
	r.tb.Helper()
	if page == nil {
		return nil
	}
	raw, err := r.cache.Parse(page, "")
	require.NoError(r.tb, err)
	out := r.deriver.Derive(at, raw)
	return r.shown.values(out)
}

// shown reads the values of blocks and caches the names of their series.
type shown struct {
	shape *exposition.Shape
	names []string
}

// values are the values of a block by series, identity labels left out.
func (s *shown) values(out *exposition.Block) values {
	if shape := out.Shape(); shape != s.shape {
		s.shape, s.names = shape, nil
		for n := range shape.Lines() {
			s.names = append(s.names, name(shape.Labels(n)))
		}
	}
	shown := make(values, len(s.names))
	for n, series := range s.names {
		if v, ok := out.Value(n); ok {
			shown[series] = v
		}
	}
	return shown
}

// values holds the values of a block by series, without identity labels.
type values map[string]float64

// at returns the value of a series, which must exist; why is the message if it does
// not.
func (v values) at(t *testing.T, series string, why ...any) float64 {
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

// near returns the series whose names are most similar.
func (v values) near(series string) []string {
	const most = 5
	alike := func(s string) int {
		n := 0
		for n < min(len(s), len(series)) && s[n] == series[n] {
			n++
		}
		return n
	}
	all := slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Or(cmp.Compare(alike(b), alike(a)), cmp.Compare(a, b))
	})
	return all[:min(most, len(all))]
}

// of is the value of a family of the entry model.
func (r *rig) of(values map[string]float64, family string) (float64, bool) {
	v, ok := values[r.series(values, family, "")]
	return v, ok
}

// has says whether a series has a value.
func has(values map[string]float64, series string) bool {
	_, ok := values[series]
	return ok
}

// series is the name of the series of a family of the entry model, with further
// labels: of Triton it names the model too.
func (r *rig) series(values map[string]float64, family, more string) string {
	plain := fmt.Sprintf(`%s{model_id=%q%s}`, family, r.id, more)
	if own := fmt.Sprintf(`%s{model=%q, model_id=%q%s, version="1"}`, family, r.id, r.id, more); has(values, own) {
		return own
	}
	return plain
}
