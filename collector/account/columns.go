package account

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Families that are counted, without their prefix.
const (
	requestsEnded    = "requests_total"
	promptTokens     = "prompt_tokens_total"
	cachedTokens     = "prompt_tokens_cached_total"
	generatedTokens  = "generation_tokens_total"
	generatedLive    = "generation_tokens_live_total"
	preemptions      = "requests_preempted_total"
	blocksReused     = "kv_cache_blocks_reused_total"
	blocksMissed     = "kv_cache_blocks_missed_total"
	modelSeconds     = "model_request_seconds_total"
	modelInferences  = "model_inferences_total"
	modelExecutions  = "model_executions_total"
	gpuEnergy        = "gpu_energy_joules_total"
	wholeRequests    = "request_duration_seconds"
	firstTokens      = "time_to_first_token_seconds"
	outputTokens     = "time_per_output_token_seconds"
	interTokens      = "inter_token_latency_seconds"
	queueTimes       = "request_queue_seconds"
	meanWhole        = "request_duration_average_seconds"
	engineIterations = "engine_iterations_total"
)

// Exposition returns the setting that accounts need: with the servers' own series off, all distributions are among
// the derived ones.
func Exposition() exposition.Config {
	e := exposition.DefaultConfig
	e.Raw = exposition.RawNone
	return e
}

// partOf returns the label that tells the counters of a family apart. ok is false for other families.
func partOf(family string) (label string, ok bool) {
	switch family {
	case requestsEnded:
		return "class", true
	case gpuEnergy:
		return "gpu_uuid", true
	case promptTokens, cachedTokens, generatedTokens, generatedLive, preemptions, blocksReused, blocksMissed,
		modelSeconds, modelInferences, modelExecutions, engineIterations:
		return "", true
	}
	return "", false
}

// isDistribution reports whether a histogram is counted.
func isDistribution(family string) bool {
	switch family {
	case wholeRequests, firstTokens, outputTokens, interTokens, queueTimes:
		return true
	}
	return false
}

// Parts of a histogram; the others are the bounds of its buckets.
const partSum, partCount = "sum", "count"

// gauge is a number of a model that pages sample.
type gauge int

const (
	running gauge = iota
	active
	queue
	cache
	// wholeKnown has any value if the mean duration of requests has had a value.
	wholeKnown
	gauges
)

// gaugeOf returns the gauge of a family, false for other families.
func gaugeOf(family string) (gauge, bool) {
	switch family {
	case "requests_running":
		return running, true
	case "requests_active":
		return active, true
	case "queue_depth":
		return queue, true
	case "kv_cache_utilization_ratio":
		return cache, true
	case meanWhole:
		return wholeKnown, true
	}
	return 0, false
}

// counterKey is what a figure adds up: a family of a model, and a part of that.
type counterKey struct{ family, model, part string }

// counter is a series that only grows.
type counter struct {
	counterKey

	last  float64
	seen  bool
	grown float64
	// away is true if pages since its last value lack it, as those of a server whose model is not loaded.
	away bool
}

// columns are where the numbers of pages of one shape are.
type columns struct {
	shape    *exposition.Shape
	counters []counterLine
	gauges   []gaugeLine
}

type counterLine struct {
	line    int
	counter *counter
}

type gaugeLine struct {
	line  int
	model string
	gauge gauge
}

// index finds the columns of a shape. The counters of a replica outlive its shapes.
func (l *ledger) index(shape *exposition.Shape) {
	l.columns = columns{shape: shape}
	shown := make(map[*counter]bool)
	for n := range shape.Lines() {
		lset := shape.Labels(n)
		name, derived := strings.CutPrefix(lset.Get(model.MetricNameLabel), derive.Prefix)
		if !derived {
			continue
		}
		if tier := lset.Get("tier"); tier != "" {
			l.tier = engine.Tier(tier)
		}
		modelID := lset.Get("model_id")
		if g, ok := gaugeOf(name); ok {
			l.columns.gauges = append(l.columns.gauges, gaugeLine{n, modelID, g})
		}
		if key, ok := keyOf(name, modelID, &lset); ok {
			c := l.counter(key, &lset)
			shown[c] = true
			l.columns.counters = append(l.columns.counters, counterLine{n, c})
		}
	}
	for _, c := range l.counters {
		c.away = c.away || !shown[c]
	}
}

// keyOf returns what a series is a part of, false if no figure needs it. Of single models only those
// count that clients call.
func keyOf(name, modelID string, lset *labels.Labels) (counterKey, bool) {
	if role := lset.Get("role"); role != "" && !engine.Role(role).Front() {
		return counterKey{}, false
	}
	if label, ok := partOf(name); ok {
		return counterKey{name, modelID, lset.Get(label)}, true
	}
	for _, suffix := range []string{"_sum", "_count", "_bucket"} {
		family, ok := strings.CutSuffix(name, suffix)
		if !ok || !isDistribution(family) {
			continue
		}
		part := strings.TrimPrefix(suffix, "_")
		if suffix == "_bucket" {
			part = lset.Get("le")
		}
		return counterKey{family, modelID, part}, true
	}
	return counterKey{}, false
}

// counter returns the counter of a series. Versions are no part of its name: they may become known late.
func (l *ledger) counter(key counterKey, lset *labels.Labels) *counter {
	name := labels.NewBuilder(*lset).Del("engine_version", "trtllm_version", "tier").Labels().String()
	c := l.counters[name]
	if c == nil {
		c = &counter{counterKey: key}
		l.counters[name] = c
	}
	return c
}
