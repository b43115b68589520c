package engine

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Determinism implements Engine.
func (*tritonPage) Determinism(f *Facts, p *Page) []target.Check {
	models := tritonWorkers(f, p)
	if len(models) == 0 {
		return nil
	}
	return []target.Check{oneInstance(models), pinnedGPUs(models), noBatching(models), singleRequest(models, p)}
}

// tritonWorkers are the models that run the LLM, of which the config is known: not
// ensembles, BLS models or tokenizers, which give the same answer anyhow.
func tritonWorkers(f *Facts, p *Page) []*ModelFacts {
	if f == nil {
		return nil
	}
	if llm := tritonLLM(f, p); llm != nil {
		if !llm.Configured {
			return nil
		}
		return []*ModelFacts{llm}
	}
	var models []*ModelFacts
	for i := range f.Models {
		m := &f.Models[i]
		tokenizer := m.Name == preprocessing || m.Name == postprocessing
		if m.Configured && m.Platform != platformEnsemble && len(m.Calls) == 0 && !tokenizer {
			models = append(models, m)
		}
	}
	return models
}

func oneInstance(models []*ModelFacts) target.Check {
	for _, m := range models {
		if n := m.InstanceCount(); n != 1 {
			return target.No(CheckOneInstance, fmt.Sprintf("model %s has %d instances; set instance_group count: 1 with one GPU", m.Name, n), "")
		}
	}
	return target.Yes(CheckOneInstance, "one instance of each model")
}

func pinnedGPUs(models []*ModelFacts) target.Check {
	for _, m := range models {
		if m.Parameters[gpuParameter] != "" {
			continue
		}
		for _, g := range m.Instances {
			if g.Kind != "KIND_GPU" && m.Backend == backendCPP {
				return target.No(CheckPinnedGPUs, fmt.Sprintf("model %s leaves the GPU to its backend (%s); set parameter %s", m.Name, g.Kind, gpuParameter), "")
			}
			if g.Kind != "KIND_GPU" {
				return target.No(CheckPinnedGPUs, fmt.Sprintf("model %s leaves the GPU to its backend (%s); name it in instance_group gpus, or give the server one GPU only", m.Name, g.Kind), "")
			}
			if len(g.GPUs) != 1 {
				return target.No(CheckPinnedGPUs, fmt.Sprintf("model %s runs on %d GPUs; name one in instance_group gpus", m.Name, len(g.GPUs)), "")
			}
		}
		if len(m.Instances) == 0 {
			return target.No(CheckPinnedGPUs, "model "+m.Name+" has no instance group; name its GPU", "")
		}
	}
	return target.Yes(CheckPinnedGPUs, "the GPUs are named in the config")
}

func noBatching(models []*ModelFacts) target.Check {
	minimal := false
	for _, m := range models {
		if m.Batching == nil {
			continue
		}
		if !m.Batching.Minimal() {
			return target.No(CheckNoBatching, fmt.Sprintf("model %s waits %d us to batch requests; leave dynamic_batching out", m.Name, m.Batching.DelayMicroseconds), "")
		}
		if m.Backend != backendCPP && m.Backend != backendPython && m.MaxBatchSize > 1 {
			return target.No(CheckNoBatching, "model "+m.Name+" batches requests that wait; leave dynamic_batching out", "")
		}
		minimal = true
	}
	if minimal {
		return target.Yes(CheckNoBatching, "dynamic batching is minimal: no delay and no preferred sizes")
	}
	return target.Yes(CheckNoBatching, "no dynamic batching")
}

// singleRequest checks how many requests may share a batch. Backends of LLMs
// batch by themselves, whatever max_batch_size Triton gives a request.
func singleRequest(models []*ModelFacts, p *Page) target.Check {
	if c, known := admitsOne(p); known {
		return c
	}
	for _, m := range models {
		if m.Backend == backendCPP || m.Backend == backendVLLM || m.Decoupled || m.Name == llmName {
			return target.No(CheckSingleRequest, "model "+m.Name+" batches requests by itself and does not say how many"+oneInFlight, "")
		}
		if m.MaxBatchSize > 1 {
			return target.No(CheckSingleRequest, fmt.Sprintf("model %s takes up to %d requests into one batch", m.Name, m.MaxBatchSize)+oneInFlight, "")
		}
	}
	return target.Yes(CheckSingleRequest, "no model takes more than one request into a batch")
}
