package matrix

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Quantity is a family of series or a state that users want of a server.
type Quantity struct {
	Name string
	// Families lists alternatives, best first; Class selects series.
	Families []string
	Class    engine.Class
	// State is a state that must be detected, Suspected is true for hangs, which a question proves.
	State     assess.State
	Suspected bool
	// Capability is the capability with the reason if it is absent or incomplete.
	Capability string
}

// Quantities returns the quantities in the order of the documentation.
func Quantities() []Quantity {
	share := func(name string, class engine.Class) Quantity {
		return Quantity{
			Name:       name,
			Families:   []string{"request_error_ratio"},
			Class:      class,
			Capability: engine.CanOutcomes,
		}
	}
	family := func(name, capability string, families ...string) Quantity {
		return Quantity{Name: name, Families: families, Capability: capability}
	}
	return []Quantity{
		family("requests/s", engine.CanOutcomes, "requests_per_second"),
		share("server errors", engine.ClassServer),
		share("rejections for lack of capacity", engine.ClassOverload),
		share("client errors", engine.ClassClient),
		share("canceled", engine.ClassCanceled),
		{Name: "state failing", State: assess.Failing, Capability: engine.CanOutcomes},
		{Name: "hangs", Suspected: true, Capability: engine.CanStall},
		family("queue", engine.CanQueue, "queue_depth"),
		family("hidden queue of the executor", engine.CanRunning, "queue_hidden_requests_estimate"),
		family("running requests", engine.CanRunning, "requests_running"),
		family("request limit", engine.CanRunning, "requests_limit"),
		family("request headroom", engine.CanRunning, "headroom_requests"),
		family("limiting resource", engine.CanQueue, "limited_by"),
		family("generated tokens", engine.CanTokens, "generation_tokens_total"),
		family(
			"generated tokens/s while requests run",
			engine.CanLiveTokens,
			"generation_tokens_live_per_second",
			"generation_tokens_per_second_estimate",
			"generation_tokens_per_second",
		),
		family("KV cache utilization", engine.CanKVCache, "kv_cache_utilization_ratio"),
		family("KV cache size", engine.CanKVCache, "kv_cache_capacity_tokens"),
		family(
			"KV cache reuse",
			engine.CanKVReuse,
			"kv_cache_reuse_ratio",
			"kv_cache_reuse_ratio_estimate",
			"prompt_cache_hit_ratio",
			"kv_cache_hit_ratio",
		),
		family("E2E, mean", engine.CanE2E, "request_duration_average_seconds"),
		family("E2E, percentiles", engine.CanQuantiles, "request_duration_percentile_seconds"),
		family("TTFT", engine.CanTTFT, "time_to_first_token_average_seconds"),
		family("ITL, between tokens", engine.CanTPOT, "inter_token_latency_average_seconds"),
		family("TPOT, mean of a request", engine.CanTPOT, "time_per_output_token_average_seconds"),
		family("time in the queue", engine.CanE2E, "request_queue_average_seconds"),
	}
}

// Finding is a quantity of a server.
type Finding struct {
	Quantity

	// Family is the family with it, empty if there is none and for states.
	Family string
	Shown  bool
	// Why is the reason if it is absent, Cure what would provide it.
	Why, Cure string
}

// Findings returns all quantities of a server, over all scenarios.
func Findings(play Player, server *Server) ([]Finding, error) {
	var pages []Result
	var usual map[string]Answer
	for _, scenario := range Scenarios() {
		all, err := play(server, &scenario)
		if err != nil {
			return nil, err
		}
		if pages = append(pages, all...); usual == nil {
			usual = all[len(all)-1].Capabilities
		}
	}
	var all []Finding
	for _, q := range Quantities() {
		all = append(all, q.finding(pages, usual))
	}
	return all, nil
}

// finding looks for a quantity in results.
func (q Quantity) finding(pages []Result, usual map[string]Answer) Finding {
	g := Finding{Quantity: q}
	switch {
	case q.State != "":
		g.Shown = slices.ContainsFunc(pages, func(s Result) bool { return s.State == q.State })
	case q.Suspected:
		g.Shown = usual[q.Capability].OK && slices.ContainsFunc(pages, func(s Result) bool { return s.Suspected })
	}
	live := q.Capability != engine.CanLiveTokens || usual[q.Capability].OK
	for _, family := range q.Families {
		var labels []string
		if q.Class != "" {
			labels = []string{"class", string(q.Class)}
		}
		if live && slices.ContainsFunc(pages, func(s Result) bool { _, ok := s.Value(family, labels...); return ok }) {
			g.Family, g.Shown = derive.Prefix+family, true
			break
		}
	}
	if answer := usual[q.Capability]; !g.Shown {
		if g.Why, g.Cure = answer.Reason, answer.Cure; answer.OK && q.State == "" &&
			!strings.Contains(answer.Reason, "not counted") {
			g.Why = "not on the page"
		}
	}
	return g
}
