package history

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Figures are the numbers of a replica at one moment; nil is unknown.
type Figures struct {
	// Tokens are generated tokens per second, Waiting and Running requests, Limit is how many may
	// run. All are sums over the models of the replica.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Running *float64 `json:"running,omitempty"`
	Limit   *float64 `json:"running_limit,omitempty"`
	// Saturated is 1 while a model has as many requests as it accepts.
	Saturated *float64 `json:"saturated,omitempty"`
	// Cache is the ratio of the KV cache in use, FirstToken the mean time to the first token,
	// Duration that of a request, and Failed the ratio of failed requests. Each is that of the
	// worst model.
	Cache      *float64 `json:"kv_cache_ratio,omitempty"`
	FirstToken *float64 `json:"first_token_seconds,omitempty"`
	Duration   *float64 `json:"request_seconds,omitempty"`
	Failed     *float64 `json:"failed_ratio,omitempty"`
}

// errorFamily has a series for each reason, and sometimes class, of failure.
const errorFamily = "llm_server_request_error_ratio"

// source is the family of a figure.
type source struct {
	family string
	figure func(f *Figures) **float64
	// combine combines the values of several models.
	combine func(a, b float64) float64
}

func add(a, b float64) float64 { return a + b }

// sources returns the sources of all figures but Failed. The first two are sampled.
func sources() []source {
	return []source{
		{"llm_server_generation_tokens_per_second", func(f *Figures) **float64 { return &f.Tokens }, add},
		{"llm_server_queue_depth", func(f *Figures) **float64 { return &f.Waiting }, add},
		{"llm_server_requests_running", func(f *Figures) **float64 { return &f.Running }, add},
		{"llm_server_requests_limit", func(f *Figures) **float64 { return &f.Limit }, add},
		{"llm_server_saturated", func(f *Figures) **float64 { return &f.Saturated }, math.Max},
		{"llm_server_kv_cache_utilization_ratio", func(f *Figures) **float64 { return &f.Cache }, math.Max},
		{"llm_server_time_to_first_token_average_seconds", func(f *Figures) **float64 { return &f.FirstToken }, math.Max},
		{"llm_server_request_duration_average_seconds", func(f *Figures) **float64 { return &f.Duration }, math.Max},
	}
}

// index holds the positions of the series of the figures in blocks of one shape.
type index struct {
	shape *exposition.Shape
	// bySource are the series of each source, failures those of each model that count as failures.
	bySource, failures [][]exposition.ValueIndex
}

func newIndex(s *exposition.Shape) *index {
	x := &index{shape: s, failures: failures(s)}
	for _, source := range sources() {
		x.bySource = append(x.bySource, series(s, source.family))
	}
	return x
}

// series returns the series of a family, on the page or set aside from it.
func series(s *exposition.Shape, family string) []exposition.ValueIndex {
	for ; s != nil; s = s.Hidden() {
		var all []int
		start, end := lines(s, family)
		for n := start; n < end; n++ {
			all = append(all, n)
		}
		if len(all) > 0 {
			return s.ValueIndexes(all)
		}
	}
	return nil
}

func (x *index) sample(b *exposition.Block) sample {
	return sample{narrowed(combined(b, x.bySource[0], add)), narrowed(combined(b, x.bySource[1], add))}
}

// narrowed converts a number; one that is out of range is unknown, as a graph cannot be scaled to
// infinity.
func narrowed(v float64) float32 {
	if math.Abs(v) > math.MaxFloat32 {
		return float32(math.NaN())
	}
	return float32(v)
}

// combined combines the known values of series; NaN if none is known.
func combined(b *exposition.Block, series []exposition.ValueIndex, combine func(a, b float64) float64) float64 {
	result := math.NaN()
	for _, place := range series {
		switch v := b.Number(place); {
		case math.IsNaN(v):
		case math.IsNaN(result):
			result = v
		default:
			result = combine(result, v)
		}
	}
	return result
}

// lines returns the half-open range of a family's lines; empty if it is not on the page.
func lines(s *exposition.Shape, family string) (start, end int) {
	all := s.Families()
	i, ok := slices.BinarySearchFunc(all, family, func(f exposition.Family, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return 0, 0
	}
	return all[i].Lines()
}

// failures returns the series that count as failures, by model: those of class server if the
// series have a class, else all but canceled requests.
func failures(s *exposition.Shape) [][]exposition.ValueIndex {
	var models []labels.Labels
	var byModel [][]int
	start, end := lines(s, errorFamily)
	for n := start; n < end; n++ {
		l := s.Labels(n)
		if class := l.Get("class"); class != "" && class != "server" || class == "" && l.Get("reason") == "canceled" {
			continue
		}
		model := labels.NewBuilder(l).Del("class", "reason").Labels()
		i := slices.IndexFunc(models, func(m labels.Labels) bool { return labels.Equal(m, model) })
		if i < 0 {
			i = len(models)
			models, byModel = append(models, model), append(byModel, nil)
		}
		byModel[i] = append(byModel[i], n)
	}
	all := make([][]exposition.ValueIndex, len(byModel))
	for i := range byModel {
		all[i] = s.ValueIndexes(byModel[i])
	}
	return all
}

// figures reads the numbers of a block.
func (x *index) figures(b *exposition.Block) Figures {
	var f Figures
	for i, source := range sources() {
		set(source.figure(&f), combined(b, x.bySource[i], source.combine))
	}
	worst := math.NaN()
	for _, model := range x.failures {
		if ratio := combined(b, model, add); math.IsNaN(worst) || ratio > worst {
			worst = ratio
		}
	}
	set(&f.Failed, worst)
	return f
}

// set sets a figure unless it is unknown.
func set(figure **float64, v float64) {
	if !math.IsNaN(v) {
		*figure = &v
	}
}
