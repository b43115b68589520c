package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Page is what a server's page tells about the server itself: which names and
// signals are on it, and of which models. It is of one shape of the page; only
// [Page.Refresh] changes it. It is not safe for concurrent use.
type Page struct {
	kind    Kind
	names   map[string]bool
	signals map[Signal]bool
	// models are those with series of Triton's core, loaded those of them that
	// are loaded, whatever else stands on the page.
	models, loaded map[string]bool
	// executor is the model whose executor publishes nv_trt_llm_*.
	executor string
	// kvKinds are the values of kv_cache_block_type.
	kvKinds map[string]bool
	// gpuType is what trtllm-serve says of its GPUs, gpus how many there are.
	gpuType string
	gpus    int
	// buckets are the bounds of histograms by family, sorted.
	buckets map[string]string
	// pids are the processes that have gauges on a multiprocess page.
	pids int
	// watched are the series of which the value counts, by what it is.
	watched map[Signal][]watched
	values  map[Signal]float64
	// routes are the series that say of each model whether a frontend can send
	// requests for it anywhere, routed whether one of them does.
	routes []int
	routed bool
}

// watched is one series of which the value counts.
type watched struct {
	index int
	model string
}

// Tells says whether the sample of that name tells something about its server
// although no rule may read it; give it to the cache that parses the page.
func Tells(name string) bool {
	for _, prefix := range []string{"dynamo_frontend_", "dynamo_component_", "vllm:"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count")
		}
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "trtllm_"), "trtllm:")
	return slices.Contains(telling(), bare)
}

// telling are the names that [Tells] knows, without prefix.
func telling() []string {
	return []string{
		"nv_inference_first_response_histogram_ms_bucket", "nv_inference_request_summary_us",
		"nv_llm_input_token_len_bucket", "nv_llm_output_token_len_bucket",
		"e2e_request_latency_seconds_bucket", "time_to_first_token_seconds_bucket",
		"time_per_output_token_seconds_bucket", "request_queue_time_seconds_bucket",
		"request_prefill_time_seconds_bucket", "request_decode_time_seconds_bucket", "request_inference_time_seconds_bucket",
		"model_config_info", "parallel_config_info", "kv_cache_config_info", "cache_config_info",
		"kv_cache_hit_rate", "num_request_max", "request_finish_total",
	}
}

// counted are the signals of which the values tell something.
func counted() []Signal {
	return []Signal{KVBlockTokens, RequestsLimit, EngineLastIter, GPUMemoryTotal}
}

// ReadPage reads what a page tells. Series of models that are not loaded tell
// nothing: after an unload they stay there, frozen.
func ReadPage(e Engine, index Index, b *exposition.Block) *Page {
	p := &Page{
		kind: e.Kind(), names: make(map[string]bool), signals: make(map[Signal]bool),
		models: make(map[string]bool), loaded: make(map[string]bool), kvKinds: make(map[string]bool),
		buckets: make(map[string]string), watched: make(map[Signal][]watched),
	}
	all := b.Shape().Watched()
	for i := range all {
		switch name := all[i].Labels.Get("model"); all[i].Labels.Get(model.MetricNameLabel) {
		case "nv_inference_request_success":
			p.models[name], p.loaded[name] = true, true
		case "nv_inference_request_failure":
			p.models[name] = true
		}
	}
	bounds := make(map[string]map[string]bool)
	pids := make(map[string]bool)
	for i := range all {
		lset := all[i].Labels
		if name := lset.Get("model"); p.models[name] && !p.loaded[name] {
			continue
		}
		p.series(index, i, lset)
		if pid := lset.Get("pid"); pid != "" {
			pids[pid] = true
		}
		if family, ok := strings.CutSuffix(lset.Get(model.MetricNameLabel), "_bucket"); ok {
			if bounds[family] == nil {
				bounds[family] = make(map[string]bool)
			}
			bounds[family][bound(lset.Get("le"))] = true
		}
	}
	for family, set := range bounds {
		p.buckets[family] = strings.Join(sorted(set), " ")
	}
	p.pids = len(pids)
	p.Refresh(b)
	return p
}

// bound spells the bound of a bucket in one way: servers write 1, 1.0 and 1e0.
func bound(le string) string {
	v, err := strconv.ParseFloat(le, 64)
	if err != nil {
		return le
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// sorted are the keys of a set in order.
func sorted(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// series takes one series in.
func (p *Page) series(index Index, at int, lset labels.Labels) {
	name := lset.Get(model.MetricNameLabel)
	p.names[name] = true
	if strings.HasPrefix(name, "nv_trt_llm_") {
		p.executor = lset.Get("model")
	}
	if kind := lset.Get("kv_cache_block_type"); kind != "" {
		p.kvKinds[kind] = true
	}
	if gpu := lset.Get("gpu_type"); gpu != "" {
		p.gpuType = plainText(gpu)
	}
	if n, err := strconv.Atoi(lset.Get("gpu_count")); err == nil {
		p.gpus = n
	}
	if name == routeMark {
		p.routes = append(p.routes, at)
	}
	meanings := index[name]
	for i := range meanings {
		m := &meanings[i]
		if m.Label != "" && lset.Get(m.Label) != m.Value {
			continue
		}
		p.signals[m.Signal] = true
		if slices.Contains(counted(), m.Signal) {
			p.watched[m.Signal] = append(p.watched[m.Signal], watched{at, modelOf(lset)})
		}
	}
}

// modelOf is the server's name of the model a series speaks of.
func modelOf(lset labels.Labels) string {
	for _, name := range ModelLabels() {
		if v := lset.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// Refresh reads the values that tell something from a further page of the same
// shape; true when any of them changed what is known.
func (p *Page) Refresh(b *exposition.Block) bool {
	changed := false
	next := make(map[Signal]float64, len(p.watched))
	for signal, series := range p.watched {
		most := 0.0
		for _, w := range series {
			if v, ok := b.WatchedValue(w.index); ok {
				most = max(most, v)
			}
		}
		if signal == EngineLastIter {
			most = float64(unitOf(most))
		}
		next[signal] = most
		changed = changed || p.values[signal] != most
	}
	p.values = next
	routed := false
	for _, at := range p.routes {
		v, ok := b.WatchedValue(at)
		routed = routed || ok && v > 0
	}
	changed = changed || routed != p.routed
	p.routed = routed
	return changed
}

// routeMark is 1 while Dynamo's frontend can route requests for a model; it
// falls to 0 when the last worker is lost, and is gone some seconds later.
const routeMark = "dynamo_frontend_model_ready"

// Unrouted says that the page tells of models and that requests for none of
// them can be sent anywhere.
func (p *Page) Unrouted() bool { return p != nil && len(p.routes) > 0 && !p.routed }

// unitOf tells the unit of the executor's timestamp: 0 before the first
// iteration, 1 for seconds, 2 for microseconds.
func unitOf(timestamp float64) int {
	const micros = 1e12
	switch {
	case timestamp <= 0:
		return 0
	case timestamp < micros:
		return 1
	}
	return 2
}

// Has says whether the page has a signal.
func (p *Page) Has(s Signal) bool { return p != nil && p.signals[s] }

// Shows says whether the page has a sample of that name, with or without the
// prefixes that TensorRT-LLM's own names may have.
func (p *Page) Shows(name string) bool {
	return p != nil && (p.names[name] || p.names["trtllm_"+name] || p.names["trtllm:"+name])
}

// Begins says whether the page has a name that begins so.
func (p *Page) Begins(prefix string) bool {
	if p == nil {
		return false
	}
	for name := range p.names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Loaded says whether a model is loaded as far as the page tells; known is
// false when the page does not speak of the model, or of models at all.
func (p *Page) Loaded(name string) (loaded, known bool) {
	if p == nil || len(p.models) == 0 {
		return false, false
	}
	return p.loaded[name], true
}

// Models are the models that Triton's core counts, in order.
func (p *Page) Models() []string {
	if p == nil {
		return nil
	}
	return sorted(p.models)
}

// KVBlockTokens is how many tokens a block of the KV cache holds; false while
// the page does not tell, as before the first iteration.
func (p *Page) KVBlockTokens() (float64, bool) { return p.value(KVBlockTokens) }

// RequestsLimit is how many requests the executor admits at once.
func (p *Page) RequestsLimit() (float64, bool) { return p.value(RequestsLimit) }

func (p *Page) value(s Signal) (float64, bool) {
	if p == nil {
		return 0, false
	}
	v := p.values[s]
	return v, v > 0
}

// Buckets are the bounds of the page's histograms by family.
func (p *Page) Buckets() map[string]string {
	if p == nil {
		return nil
	}
	return p.buckets
}

// GPU describes the GPUs, as far as the page tells: their name, else how many
// there are and the memory of the largest.
func (p *Page) GPU() (string, bool) {
	if p == nil {
		return "", false
	}
	if p.gpuType != "" {
		return strconv.Itoa(max(p.gpus, 1)) + "x " + p.gpuType, true
	}
	if v, ok := p.value(GPUMemoryTotal); ok {
		return strconv.Itoa(len(p.watched[GPUMemoryTotal])) + "x " + strconv.FormatFloat(v, 'f', -1, 64) + " bytes", true
	}
	return "", false
}
