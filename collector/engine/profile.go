package engine

import (
	"fmt"
	"strings"
)

// Check is one condition of a server that gives the same answer to the same
// request, with the reason for people.
type Check struct {
	// Name is one of the Check constants.
	Name   string
	OK     bool
	Reason string
}

// The checks of the determinism profile. In-flight batching, several instances
// and free GPUs change the order of floating point sums, versions the kernels.
const (
	CheckOneInstance   = "one_instance"
	CheckPinnedGPUs    = "gpus_pinned"
	CheckNoBatching    = "no_dynamic_batching"
	CheckSingleRequest = "single_request"
	CheckVersions      = "versions_pinned"
)

// Pins are the versions that the operator declared or expects of a replica.
type Pins struct{ EngineVersion, TRTLLMVersion bool }

// Determinism checks a replica against the profile. Checks of which nothing is
// known are left out.
func Determinism(kind Kind, f *Facts, p *Page, pins Pins) []Check {
	var checks []Check
	add := func(name string, ok bool, reason string) {
		checks = append(checks, Check{name, ok, reason})
	}
	switch models := f.workers(p); {
	case len(models) > 0:
		ok, why := oneInstance(models)
		add(CheckOneInstance, ok, why)
		ok, why = pinnedGPUs(models)
		add(CheckPinnedGPUs, ok, why)
		ok, why = noBatching(models)
		add(CheckNoBatching, ok, why)
		ok, why = singleRequest(models, p)
		add(CheckSingleRequest, ok, why)
	case kind == TRTLLMServe:
		add(CheckOneInstance, true, "the server is one instance of its engine")
		if _, known := p.RequestsLimit(); known {
			ok, why := singleRequest(nil, p)
			add(CheckSingleRequest, ok, why)
		}
	}
	var open []string
	if !pins.EngineVersion {
		open = append(open, "engine_version")
	}
	if !pins.TRTLLMVersion {
		open = append(open, "trtllm_version")
	}
	if len(open) == 0 {
		add(CheckVersions, true, "both versions are declared or expected")
	} else {
		add(CheckVersions, false, "declare or expect "+strings.Join(open, " and "))
	}
	return checks
}

// workers are the models that run the LLM, of which the config is known: not
// ensembles, BLS models or tokenizers, which give the same answer anyhow.
func (f *Facts) workers(p *Page) []*ModelFacts {
	if f == nil {
		return nil
	}
	if llm := f.llmModel(p); llm != nil {
		if !llm.Configured {
			return nil
		}
		return []*ModelFacts{llm}
	}
	var models []*ModelFacts
	for i := range f.Models {
		m := &f.Models[i]
		tokenizer := m.Name == "preprocessing" || m.Name == "postprocessing"
		if m.Configured && m.Platform != "ensemble" && len(m.Calls) == 0 && !tokenizer {
			models = append(models, m)
		}
	}
	return models
}

func oneInstance(models []*ModelFacts) (bool, string) {
	for _, m := range models {
		if n := m.InstanceCount(); n != 1 {
			return false, fmt.Sprintf("model %s has %d instances; set instance_group count: 1 with one GPU", m.Name, n)
		}
	}
	return true, "one instance of each model"
}

func pinnedGPUs(models []*ModelFacts) (bool, string) {
	for _, m := range models {
		if m.Parameters[gpuParameter] != "" {
			continue
		}
		for _, g := range m.Instances {
			if g.Kind != "KIND_GPU" && m.Backend == backendCPP {
				return false, fmt.Sprintf("model %s leaves the GPU to its backend (%s); set parameter %s", m.Name, g.Kind, gpuParameter)
			}
			if g.Kind != "KIND_GPU" {
				return false, fmt.Sprintf("model %s leaves the GPU to its backend (%s); name it in instance_group gpus, or give the server one GPU only", m.Name, g.Kind)
			}
			if len(g.GPUs) != 1 {
				return false, fmt.Sprintf("model %s runs on %d GPUs; name one in instance_group gpus", m.Name, len(g.GPUs))
			}
		}
		if len(m.Instances) == 0 {
			return false, "model " + m.Name + " has no instance group; name its GPU"
		}
	}
	return true, "the GPUs are named in the config"
}

func noBatching(models []*ModelFacts) (bool, string) {
	minimal := false
	for _, m := range models {
		if m.Batching == nil {
			continue
		}
		if !m.Batching.Minimal() {
			return false, fmt.Sprintf("model %s waits %d us to batch requests; leave dynamic_batching out", m.Name, m.Batching.DelayMicroseconds)
		}
		if m.Backend != backendCPP && m.Backend != "python" && m.MaxBatchSize > 1 {
			return false, "model " + m.Name + " batches requests that wait; leave dynamic_batching out"
		}
		minimal = true
	}
	if minimal {
		return true, "dynamic batching is minimal: no delay and no preferred sizes"
	}
	return true, "no dynamic batching"
}

// singleRequest checks how many requests may share a batch. Backends of LLMs
// batch by themselves, whatever max_batch_size Triton gives a request.
func singleRequest(models []*ModelFacts, p *Page) (bool, string) {
	limit, known := p.RequestsLimit()
	if known {
		return limit == 1, fmt.Sprintf("the executor admits %.0f requests at once", limit) + adviceUnless(limit == 1)
	}
	for _, m := range models {
		if m.Backend == backendCPP || m.Backend == "vllm" || m.Decoupled || m.Name == llmName {
			return false, "model " + m.Name + " batches requests by itself and does not say how many" + adviceUnless(false)
		}
		if m.MaxBatchSize > 1 {
			return false, fmt.Sprintf("model %s takes up to %d requests into one batch", m.Name, m.MaxBatchSize) + adviceUnless(false)
		}
	}
	return true, "no model takes more than one request into a batch"
}

// adviceUnless is the way out of requests that share a batch, where one is needed.
func adviceUnless(ok bool) string {
	if ok {
		return ""
	}
	return "; let clients keep one request in flight, or set the largest batch of the engine to 1"
}
