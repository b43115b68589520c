package engine

import (
	"fmt"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func (*tritonPage) Determinism(f *Facts, p *Page) []target.Check {
	models := tritonWorkers(f, p)
	if len(models) == 0 {
		return nil
	}
	batching := "no dynamic batching"
	if slices.ContainsFunc(models, func(m *ModelFacts) bool { return m.Batching != nil }) {
		batching = "dynamic batching is minimal: no delay and no preferred sizes"
	}
	single, known := admitsOne(p)
	if !known {
		single = every(CheckSingleRequest, models, "no model takes more than one request into a batch", singleRequest)
	}
	return []target.Check{
		every(CheckOneInstance, models, "one instance of each model", oneInstance),
		every(CheckPinnedGPUs, models, "the GPUs are named in the config", pinnedGPUs),
		every(CheckNoBatching, models, batching, noBatching), single,
	}
}

// tritonWorkers returns the models with a known config that run the LLM: not ensembles, BLS models
// or tokenizers, which are deterministic anyway.
func tritonWorkers(f *Facts, p *Page) []*ModelFacts {
	llm := tritonLLM(f, p)
	if llm != nil && !llm.Configured {
		return nil
	}
	var models []*ModelFacts
	for i := range f.get().Models {
		m := &f.Models[i]
		tokenizer := m.Name == preprocessing || m.Name == postprocessing
		runs := m.Platform != platformEnsemble && len(m.Calls) == 0 && !tokenizer
		if llm != nil {
			// Another LLM may be a draft model, or serve something else.
			runs = m == llm || m.State != ModelUnavailable && (m.Backend == backendCPP || m.Backend == backendVLLM)
		}
		if m.Configured && runs {
			models = append(models, m)
		}
	}
	return models
}

// every checks all models. problem describes why a model fails the check; empty if it passes.
func every(check string, models []*ModelFacts, passed string, problem func(m *ModelFacts) string) target.Check {
	for _, m := range models {
		if reason := problem(m); reason != "" {
			return target.Failed(check, "model "+m.Name+" "+reason, "")
		}
	}
	return target.Passed(check, passed)
}

func oneInstance(m *ModelFacts) string {
	if n := m.InstanceCount(); n != 1 {
		return fmt.Sprintf("has %d instances; set instance_group count: 1 with one GPU", n)
	}
	return ""
}

func pinnedGPUs(m *ModelFacts) string {
	switch {
	case m.Parameters[gpuParameter] != "":
		return ""
	case len(m.Instances) == 0:
		return "has no instance group; name its GPU"
	}
	for _, g := range m.Instances {
		switch {
		case g.Kind != "KIND_GPU" && m.Backend == backendCPP:
			return fmt.Sprintf("leaves the GPU to its backend (%s); set parameter %s", g.Kind, gpuParameter)
		case g.Kind != "KIND_GPU":
			return fmt.Sprintf("leaves the GPU to its backend (%s); name it in instance_group gpus, or give the server one GPU only", g.Kind)
		case len(g.GPUs) != 1:
			return fmt.Sprintf("runs on %d GPUs; name one in instance_group gpus", len(g.GPUs))
		}
	}
	return ""
}

func noBatching(m *ModelFacts) string {
	switch {
	case m.Batching == nil:
	case m.Batching.DelayMicroseconds != 0 || m.Batching.Preferred:
		return fmt.Sprintf("waits %d us to batch requests; remove dynamic_batching", m.Batching.DelayMicroseconds)
	case m.Backend != backendCPP && m.Backend != backendPython && m.MaxBatchSize > 1:
		return "batches requests that wait; remove dynamic_batching"
	}
	return ""
}

// singleRequest describes how many requests may share a batch. Backends of LLMs batch by
// themselves, whatever max_batch_size is.
func singleRequest(m *ModelFacts) string {
	switch {
	case m.Backend == backendCPP || m.Backend == backendVLLM || m.Decoupled || m.Name == llmName:
		return "batches requests by itself and does not show how many" + oneInFlight
	case m.MaxBatchSize > 1:
		return fmt.Sprintf("takes up to %d requests into one batch", m.MaxBatchSize) + oneInFlight
	}
	return ""
}
