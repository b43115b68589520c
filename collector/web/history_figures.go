package web

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Figures are the current numbers of a replica; nil means unknown.
type Figures struct {
	// Tokens is the number of generated tokens per second, Waiting and Running are numbers of
	// requests, Limit is the maximum of Running. All are sums over the models of the replica.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Running *float64 `json:"running,omitempty"`
	Limit   *float64 `json:"running_limit,omitempty"`
	// Saturated is 1 while a model has as many requests as it can take.
	Saturated *float64 `json:"saturated,omitempty"`
	// Cache is the ratio of the KV cache in use, FirstToken the mean time to the first token,
	// Duration the mean duration of requests, and Failed the ratio of failed requests, each for
	// the worst model.
	Cache      *float64 `json:"kv_cache_ratio,omitempty"`
	FirstToken *float64 `json:"first_token_seconds,omitempty"`
	Duration   *float64 `json:"request_seconds,omitempty"`
	Failed     *float64 `json:"failed_ratio,omitempty"`
	// objectives holds the counts of the last ten minutes, by objective.
	objectives map[string]objectiveCounts
}

// objectiveCounts holds the number of requests that an objective counts, and bounds of how many
// missed it: at least bad, at most badAtMost.
type objectiveCounts struct{ requests, bad, badAtMost float64 }

// Families that are sampled or have groups of series.
const (
	tokensFamily  = "llm_server_generation_tokens_per_second"
	waitingFamily = "llm_server_queue_depth"
	errorFamily   = "llm_server_request_error_ratio"
	sloFamily     = "llm_server_slo_requests_total"
	sloBadFamily  = "llm_server_slo_requests_bad_total"
)

// groupOf returns the group of a series within its family; ok is false if the series does not
// count. Errors are grouped by model: only class server counts if the series have a class, else
// all but canceled requests.
func groupOf(family string, l labels.Labels) (group string, ok bool) {
	switch family {
	case errorFamily:
		class := l.Get("class")
		counts := class == "server" || class == "" && l.Get("reason") != "canceled"
		return labels.NewBuilder(l).Del("class", "reason").Labels().String(), counts
	case sloFamily, sloBadFamily:
		return l.Get("slo") + l.Get("bound"), true
	}
	return "", true
}

// figureIndex caches where the figures are in blocks of one shape.
type figureIndex struct {
	shape *exposition.Shape
	// groups holds the series by family and group.
	groups map[string]map[string][]exposition.ValueIndex
}

// group returns the series of a family, which may be hidden, by group.
func (x *figureIndex) group(family string) map[string][]exposition.ValueIndex {
	if groups, ok := x.groups[family]; ok {
		return groups
	}
	groups := map[string][]exposition.ValueIndex{}
	for s := x.shape; s != nil && len(groups) == 0; s = s.Hidden() {
		start, end := linesOf(s, family)
		for n := start; n < end; n++ {
			if group, ok := groupOf(family, s.Labels(n)); ok {
				groups[group] = append(groups[group], s.ValueIndexes([]int{n})...)
			}
		}
	}
	x.groups[family] = groups
	return groups
}

// linesOf returns the half-open range of a family's lines, empty if the shape lacks the family.
func linesOf(s *exposition.Shape, family string) (start, end int) {
	all := s.Families()
	i, ok := slices.BinarySearchFunc(
		all,
		family,
		func(f exposition.Family, name string) int { return strings.Compare(f.Name, name) },
	)
	if !ok {
		return 0, 0
	}
	return all[i].Lines()
}

func plus(a, b float64) float64 { return a + b }

// combined combines the known values of series. It returns NaN if none is known.
func combined(b *exposition.Block, series []exposition.ValueIndex, combine func(a, b float64) float64) float64 {
	result := math.NaN()
	for _, i := range series {
		switch v := b.Number(i); {
		case math.IsNaN(v):
		case math.IsNaN(result):
			result = v
		default:
			result = combine(result, v)
		}
	}
	return result
}

// number returns the number of a family without groups, NaN if unknown.
func (x *figureIndex) number(b *exposition.Block, family string, combine func(a, b float64) float64) float64 {
	return combined(b, x.group(family)[""], combine)
}

func (x *figureIndex) figures(b *exposition.Block) Figures {
	optional := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	number := func(family string, combine func(a, b float64) float64) *float64 {
		return optional(x.number(b, family, combine))
	}
	failed := math.NaN()
	for _, model := range x.group(errorFamily) {
		if ratio := combined(b, model, plus); math.IsNaN(failed) || ratio > failed {
			failed = ratio
		}
	}
	return Figures{
		Tokens:     number(tokensFamily, plus),
		Waiting:    number(waitingFamily, plus),
		Running:    number("llm_server_requests_running", plus),
		Limit:      number("llm_server_requests_limit", plus),
		Saturated:  number("llm_server_saturated", math.Max),
		Cache:      number("llm_server_kv_cache_utilization_ratio", math.Max),
		FirstToken: number("llm_server_time_to_first_token_average_seconds", math.Max),
		Duration:   number("llm_server_request_duration_average_seconds", math.Max),
		Failed:     optional(failed),
	}
}

// counts returns the counts of the objectives since the start of the server, nil if there are
// none.
func (x *figureIndex) counts(b *exposition.Block) map[string]objectiveCounts {
	var all map[string]objectiveCounts
	bad := x.group(sloBadFamily)
	for name, series := range x.group(sloFamily) {
		c := objectiveCounts{
			combined(b, series, plus), combined(b, bad[name+"lower"], plus), combined(b, bad[name+"upper"], plus),
		}
		if all == nil {
			all = map[string]objectiveCounts{}
		}
		if !math.IsNaN(c.requests + c.bad + c.badAtMost) {
			all[name] = c
		}
	}
	return all
}
