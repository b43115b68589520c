package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// modelConfig is what is read of GET /v2/models/M/config.
type modelConfig struct {
	Name        string `json:"name"`
	Platform    string `json:"platform"`
	Backend     string `json:"backend"`
	MaxBatch    number `json:"max_batch_size"`
	Transaction struct {
		Decoupled bool `json:"decoupled"`
	} `json:"model_transaction_policy"`
	Ensemble struct {
		Steps []struct {
			Model string `json:"model_name"`
		} `json:"step"`
	} `json:"ensemble_scheduling"`
	Instances []struct {
		Kind  string   `json:"kind"`
		Count number   `json:"count"`
		GPUs  []number `json:"gpus"`
	} `json:"instance_group"`
	Batching *struct {
		Preferred []number `json:"preferred_batch_size"`
		Delay     number   `json:"max_queue_delay_microseconds"`
	} `json:"dynamic_batching"`
	Parameters map[string]struct {
		String string `json:"string_value"`
	} `json:"parameters"`
}

// number is an integer that may be written as text, as protobuf's JSON does with 64-bit ones.
type number int64

// UnmarshalJSON reads both forms; anything else is 0.
func (n *number) UnmarshalJSON(text []byte) error {
	var v json.Number
	err := json.Unmarshal(text, &v)
	if i, wrong := v.Int64(); err == nil && wrong == nil {
		*n = number(i)
	}
	return nil
}

// read adds the config to the facts about the model, and a declared version of TensorRT-LLM to
// those about the server.
func (c *modelConfig) read(f *Facts, m *ModelFacts) {
	m.Configured = true
	m.Backend, m.Platform = plainText(c.Backend), plainText(c.Platform)
	m.Decoupled, m.MaxBatchSize = c.Transaction.Decoupled, int(c.MaxBatch)
	for _, step := range c.Ensemble.Steps {
		if !slices.Contains(m.Steps, step.Model) {
			m.Steps = append(m.Steps, step.Model)
		}
	}
	for _, g := range c.Instances {
		group := InstanceGroup{Kind: plainText(g.Kind), Count: int(g.Count)}
		for _, gpu := range g.GPUs {
			group.GPUs = append(group.GPUs, int(gpu))
		}
		m.Instances = append(m.Instances, group)
	}
	if b := c.Batching; b != nil {
		m.Batching = &DynamicBatching{DelayMicroseconds: int64(b.Delay), Preferred: len(b.Preferred) > 0}
	}
	c.readParameters(f, m)
}

// readParameters adds the parameters that are known.
func (c *modelConfig) readParameters(f *Facts, m *ModelFacts) {
	for key, p := range c.Parameters {
		value := plainText(p.String)
		if value == "" || strings.Contains(value, "${") {
			continue // A template that was not filled in.
		}
		switch {
		case slices.Contains(ModelParameters(), key):
			if m.Parameters == nil {
				m.Parameters = make(map[string]string)
			}
			m.Parameters[key] = value
		case strings.HasSuffix(key, "_model_name"):
			// The BLS model of the TensorRT-LLM backend names the models it calls
			// (tensorrtllm_backend, all_models/inflight_batcher_llm/tensorrt_llm_bls).
			m.Calls = append(m.Calls, value)
			if strings.Contains(key, "_draft_") {
				m.Draft = value
			}
		case key == versionParameter:
			if v := plainVersion(value); v != "" {
				f.TRTLLMVersion, f.TRTLLMSource = v, SourceParameter
			}
		}
	}
	slices.Sort(m.Calls)
}

// versionParameter declares the version of TensorRT-LLM by convention: Triton's config endpoint
// returns unknown parameters as they are.
const versionParameter = "trtllm_version"

// gpuParameter pins the executor of the TensorRT-LLM backend to GPUs.
const gpuParameter = "gpu_device_ids"

// ModelParameters returns the parameters of a model's config that are kept: those of the
// TensorRT-LLM backend that decide how it batches and what it loads (tensorrtllm_backend,
// docs/model_config.md).
func ModelParameters() []string {
	return []string{
		"gpt_model_type", "batching_strategy", "batch_scheduler_policy",
		"kv_cache_free_gpu_mem_fraction", "gpt_model_path", gpuParameter,
	}
}

// configHash returns the SHA-256 of a model config as canonical JSON: keys sorted, no spaces,
// numbers as the server wrote them. It is empty if the text is no JSON object. Left out is what
// describes where a model runs and how it is watched, which may differ between replicas that answer
// alike: names that Triton generates, GPUs and host policies of instance groups, tags of metrics,
// and parameters with devices, processes or the version, which is compared by itself.
func configHash(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var config map[string]any
	if decoder.Decode(&config) != nil || config == nil {
		return ""
	}
	deleteKeys(config, "metric_tags", "model_metrics")
	deleteKeys(config["instance_group"], "name", "gpus", "host_policy", "secondary_devices")
	deleteKeys(config["parameters"], gpuParameter, "participant_ids", "executor_worker_path", "worker_path", versionParameter)
	canonical, _ := json.Marshal(config) // It was JSON.
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// deleteKeys deletes keys of an object, or of each object in a list.
func deleteKeys(v any, keys ...string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keys {
			delete(v, k)
		}
	case []any:
		for _, e := range v {
			deleteKeys(e, keys...)
		}
	}
}
