package derive_test

import (
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

// newRig makes a replica and what derives from its pages, once an interval.
func newRig(tb testing.TB, spec simulate.Spec, interval time.Duration) *rig {
	tb.Helper()
	replica, err := simulate.NewReplica(spec)
	require.NoError(tb, err)
	spec = replica.Spec()
	kind, facts := described(spec)
	e, ok := engine.Of(string(kind))
	require.True(tb, ok)
	var names []string
	for _, f := range facts {
		names = append(names, f.Name)
	}
	topology := engine.NewTopology(e, names, facts, nil)
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

// described is the kind of server a replica is, and what it would answer about
// its models, the one that clients call first.
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
	case simulate.KindTritonLLMAPI:
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

// scrape derives from the page of this moment. It returns the values by
// series, and what is true; nil while the server refuses.
func (r *rig) scrape() (map[string]float64, simulate.Truth) {
	r.tb.Helper()
	page, truth := r.replica.Observe()
	return r.page(truth.At, page), truth
}

// page derives from a page as if it came at that moment.
func (r *rig) page(at time.Duration, page []byte) map[string]float64 {
	r.tb.Helper()
	if page == nil {
		return nil
	}
	raw := r.cache.Block()
	require.NoError(r.tb, r.cache.Parse(raw, page, ""))
	out := r.deriver.Derive(at, raw)
	defer raw.Release()
	defer out.Release()
	return r.shown.values(out)
}

// shown reads what blocks show; the series of a shape are named once.
type shown struct {
	shape *exposition.Shape
	names []string
}

// values are the values of a block by series, identity labels left out.
func (s *shown) values(out *exposition.Block) map[string]float64 {
	if shape := out.Shape(); shape != s.shape {
		s.shape, s.names = shape, nil
		for n := range shape.Lines() {
			s.names = append(s.names, name(shape.Labels(n)))
		}
	}
	values := make(map[string]float64, len(s.names))
	for n, series := range s.names {
		if v, ok := out.Value(n); ok {
			values[series] = v
		}
	}
	return values
}

// of is the value of a family of the entry model.
func (r *rig) of(values map[string]float64, family string) (float64, bool) {
	v, ok := values[family+`{model_id="`+r.id+`"}`]
	return v, ok
}
