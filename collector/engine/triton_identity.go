package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Limits of the configs that one round requests, in total and concurrently. Rounds cover all
	// models in turn.
	maxConfigs    = 64
	configsAtOnce = 2
	// patience is how long a round waits before it passes on partial answers.
	patience = 500 * time.Millisecond
)

// tritonAsk asks who the server is. It requests version, models and configs concurrently, so that a
// hanging request does not delay others.
func tritonAsk(ctx context.Context, _ *Kind, client Client, address string, earlier Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		wait := patience
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(deadline)/8) // So that the first page still waits for the facts.
		}
		r := &tritonRound{client: client, base: address, earlier: earlier, answers: make([]func(*Facts), 2)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.run(
				func() { r.ask(0, func(q *questions) func(*Facts) { return askVersion(ctx, q) }) },
				func() { r.askModels(ctx) },
			)
		}()
		defer func() { <-done }()
		select {
		case <-done:
		case <-time.After(wait):
			if !yield(r.partialFacts(), false) {
				return
			}
			<-done
		}
		if r.panicked != nil {
			panic(r.panicked)
		}
		yield(r.facts(), true)
	}
}

// tritonRound is one round of requests about a Triton's identity.
type tritonRound struct {
	client  Client
	base    string
	earlier Earlier

	mu sync.Mutex
	// answers add to the facts, in the order of version, models, configs.
	answers  []func(*Facts)
	panicked any
}

// partialFacts returns the facts received so far.
func (r *tritonRound) partialFacts() Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	facts := r.facts()
	facts.Problems = nil // Failed requests may be repeated.
	return facts
}

// run runs tasks concurrently and waits for them. It stores a panic for the caller of Ask.
func (r *tritonRound) run(tasks ...func()) {
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
				}
			}()
			task()
		})
	}
	running.Wait()
}

// ask sends a request and stores its answer and problems at index i.
func (r *tritonRound) ask(i int, request func(q *questions) func(*Facts)) {
	q := &questions{client: r.client, base: r.base}
	answer := request(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[i] = func(f *Facts) {
		answer(f)
		f.Problems = append(f.Problems, q.problems...)
	}
}

func askVersion(ctx context.Context, q *questions) func(*Facts) {
	var meta serverMetadata
	_, ok := q.get(ctx, "/v2", &meta)
	return func(f *Facts) {
		if ok && meta.isTriton() {
			f.EngineVersion, f.Confirmed = plainVersion(meta.Version), true
		}
	}
}

// askModels requests the list of models, then the configs of those that are ready: first of models
// that are in use and whose config was never asked for, with the models that they call, then of all
// in turn. The index lists the folders of the repository only, and may be refused, so models that the
// page counts are asked about too.
func (r *tritonRound) askModels(ctx context.Context) {
	var models []ModelFacts
	var configs *configQueue
	r.ask(1, func(q *questions) func(*Facts) {
		var index []ModelState
		_, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index)
		if slices.ContainsFunc(q.problems, func(p Problem) bool { return p.Unanswered }) {
			return func(*Facts) {}
		}
		if ok {
			models = listed(index)
		}
		models = withUnlisted(models, r.earlier.Loaded)
		configs = newConfigQueue(models, r.earlier)
		return func(f *Facts) {
			f.Listed, f.Models = ok, slices.Clone(models)
			configs.mark(f)
		}
	})
	if configs == nil {
		return
	}
	r.mu.Lock()
	r.answers = append(r.answers, make([]func(*Facts), len(models))...)
	r.mu.Unlock()
	r.run(slices.Repeat([]func(){func() {
		for ctx.Err() == nil {
			i, ok := configs.take()
			if !ok {
				return
			}
			r.ask(2+i, func(q *questions) func(*Facts) { return configs.askConfig(ctx, q, i) })
		}
	}}, min(configsAtOnce, len(configs.ready)))...)
}

// askConfig requests the config of model i.
func (c *configQueue) askConfig(ctx context.Context, q *questions, i int) func(*Facts) {
	var config modelConfig
	name := c.models[i].Name
	text, ok := q.get(ctx, "/v2/models/"+url.PathEscape(name)+"/config", &config)
	hash := configHash(text)
	if slices.ContainsFunc(q.problems, func(p Problem) bool { return p.Unanswered }) {
		c.miss(i)
	}
	if c.models[i].unlisted {
		q.problems = nil // The page may be another server's.
	}
	if ok && config.Name == name {
		var m ModelFacts
		config.read(&Facts{}, &m)
		c.call(slices.Concat(m.Steps, m.Calls))
	}
	return func(f *Facts) {
		if ok && config.Name == name {
			config.read(f, &f.Models[i])
			f.Models[i].ConfigHash = hash
		}
	}
}

// facts returns the facts received so far.
func (r *tritonRound) facts() (f Facts) {
	for _, answer := range r.answers {
		if answer != nil {
			answer(&f)
		}
	}
	f.Models = slices.DeleteFunc(f.Models, func(m ModelFacts) bool {
		return m.unlisted && !m.Configured && !r.earlier.Facts.configured(m.Name)
	})
	return f
}

// listed returns the models of a repository index, one per name, preferably a ready version.
// Models that were never loaded come last. Of thousands, the ready ones are kept.
func listed(index []ModelState) []ModelFacts {
	position := make(map[string]int)
	var models, never []ModelFacts
	for _, row := range index {
		name := plainText(row.Name)
		if name == "" {
			continue
		}
		m := ModelFacts{Name: name, Version: plainText(row.Version), State: row.State}
		i, repeated := position[name]
		switch {
		case row.State == "":
			never = append(never, m)
		case !repeated:
			position[name] = len(models)
			models = append(models, m)
		case row.State == ModelReady:
			models[i].State, models[i].Version = row.State, m.Version
		}
	}
	rank := func(m ModelFacts) int { return ModelState{State: m.State}.Rank() }
	kept, _ := worthiest(append(models, never...), modelsLimit, rankReady, rank)
	return kept
}

// withUnlisted adds the models that a page counts and an index does not list. That they are the server's is
// known only once it answers with their config.
func withUnlisted(models []ModelFacts, loaded []string) []ModelFacts {
	known := make(map[string]bool, len(models))
	for i := range models {
		known[models[i].Name] = true
	}
	for _, name := range loaded {
		if !known[name] {
			models = append(models, ModelFacts{Name: name, State: ModelReady, unlisted: true})
		}
	}
	return models
}

// tritonAgree compares models. Page and index name the same models once these are loaded.
func tritonAgree(p *Page, f *Facts) Ternary {
	if !f.Confirmed || !f.Listed {
		return Unsure
	}
	common, differ := 0, 0
	for name, loaded := range p.loaded {
		if listed := f.Model(name) != nil; loaded && listed {
			common++
		} else if loaded {
			differ++
		}
	}
	for i := range f.Models {
		if f.Models[i].State == ModelReady && !p.loaded[f.Models[i].Name] {
			differ++
		}
	}
	switch {
	case differ == 0:
		return Yes
	case len(p.loaded) == 0:
		return agreeByModels(p, f, "")
	case common == 0:
		return No
	}
	return Unsure
}

// modelConfig is the part of GET /v2/models/M/config that is used.
type modelConfig struct {
	Name        string `json:"name"`
	Platform    string `json:"platform"`
	Backend     string `json:"backend"`
	MaxBatch    int    `json:"max_batch_size"`
	Transaction struct {
		Decoupled bool `json:"decoupled"`
	} `json:"model_transaction_policy"`
	Ensemble struct {
		Steps []struct {
			Model string `json:"model_name"`
		} `json:"step"`
	} `json:"ensemble_scheduling"`
	Instances []InstanceGroup `json:"instance_group"`
	Batching  *struct {
		Preferred []int `json:"preferred_batch_size"`
		Delay     int64 `json:"max_queue_delay_microseconds"`
	} `json:"dynamic_batching"`
	Parameters map[string]struct {
		String string `json:"string_value"`
	} `json:"parameters"`
}

// read adds the config to the facts, and the version of TensorRT-LLM that it declares.
func (c *modelConfig) read(f *Facts, m *ModelFacts) {
	m.Configured = true
	m.Backend, m.Platform = plainText(c.Backend), plainText(c.Platform)
	m.Decoupled, m.MaxBatchSize = c.Transaction.Decoupled, c.MaxBatch
	for _, step := range c.Ensemble.Steps {
		if !slices.Contains(m.Steps, step.Model) {
			m.Steps = append(m.Steps, step.Model)
		}
	}
	m.Instances = slices.Clone(c.Instances)
	for i := range m.Instances {
		m.Instances[i].Kind = plainText(m.Instances[i].Kind)
	}
	if b := c.Batching; b != nil {
		m.Batching = &DynamicBatching{DelayMicroseconds: b.Delay, Preferred: len(b.Preferred) > 0}
	}
	c.readParameters(f, m)
}

// readParameters adds the known parameters.
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
			switch {
			case strings.Contains(key, "_draft_"):
				m.Draft = value
			case key == prefillParameter:
				m.Prefill = value
			}
		case key == versionParameter:
			if v := plainVersion(value); v != "" {
				f.TRTLLMVersion, f.TRTLLMSource = v, SourceParameter
			}
		}
	}
	slices.Sort(m.Calls)
}

// versionParameter declares TensorRT-LLM by convention; Triton returns unknown parameters.
const versionParameter = "trtllm_version"

// prefillParameter names the model that computes prompts (tensorrtllm_backend, all_models/disaggregated_serving).
const prefillParameter = "context_model_name"

// gpuParameter pins the executor of the TensorRT-LLM backend to GPUs.
const gpuParameter = "gpu_device_ids"

// ModelParameters returns the parameters that are kept: how the TensorRT-LLM backend batches and
// what it loads (tensorrtllm_backend, docs/model_config.md).
func ModelParameters() []string {
	return []string{
		"gpt_model_type", "batching_strategy", "batch_scheduler_policy",
		"kv_cache_free_gpu_mem_fraction", "gpt_model_path", gpuParameter,
	}
}

// configHash returns the SHA-256 of a model config as canonical JSON: keys sorted, no spaces,
// numbers as the server wrote them. It is empty if the text is not a JSON object. It excludes
// where a model runs and how it is monitored, which may differ between equal replicas: names that
// Triton generates, GPUs and host policies of instance groups, tags of metrics, and parameters
// with devices, processes or the version, which is compared separately.
func configHash(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var config map[string]any
	if decoder.Decode(&config) != nil || config == nil {
		return ""
	}
	deleteKeys(config, "metric_tags", "model_metrics")
	deleteKeys(config["instance_group"], "name", "gpus", "host_policy", "secondary_devices")
	deleteKeys(
		config["parameters"],
		gpuParameter,
		"participant_ids",
		"executor_worker_path",
		"worker_path",
		versionParameter,
	)
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
