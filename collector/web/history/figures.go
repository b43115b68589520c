package history

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Figures are the numbers of one replica at one moment, with their names in JSON; nil is
// a number that is not known.
type Figures struct {
	// Tokens are generated tokens a second, Waiting and Running requests, Limit
	// how many may run; all are sums over the models of the replica.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Running *float64 `json:"running,omitempty"`
	Limit   *float64 `json:"running_limit,omitempty"`
	// Saturated is 1 while a model has as many requests as it may.
	Saturated *float64 `json:"saturated,omitempty"`
	// Cache is the share of the KV cache in use, FirstToken and Duration are mean
	// seconds to the first token and of a whole request, Failed is the share of
	// requests that fail; of several models each is the worst.
	Cache      *float64 `json:"kv_cache_ratio,omitempty"`
	FirstToken *float64 `json:"first_token_seconds,omitempty"`
	Duration   *float64 `json:"request_seconds,omitempty"`
	Failed     *float64 `json:"failed_ratio,omitempty"`
}

// errorFamily has a series for each reason, and maybe class, of failure.
const errorFamily = "llm_server_request_error_ratio"

// reading is a family with the figure that it gives.
type reading struct {
	family string
	figure func(f *Figures) **float64
	// fold puts the values of several models together.
	fold func(a, b float64) float64
}

func add(a, b float64) float64 { return a + b }

// readings are all figures but the share of failures. The first two are sampled.
func readings() []reading {
	return []reading{
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

// places are the series of the figures in the blocks of one shape, looked for once.
type places struct {
	shape *exposition.Shape
	// plain are those of each of the readings; failures are those of each model
	// that count as its failures.
	plain, failures [][]exposition.ValueIndex
}

// find looks for the figures in a shape.
func find(s *exposition.Shape) *places {
	p := &places{shape: s, failures: failures(s)}
	for _, r := range readings() {
		p.plain = append(p.plain, series(s, r.family))
	}
	return p
}

// series are those of a family, on the page or kept from it.
func series(s *exposition.Shape, family string) []exposition.ValueIndex {
	for ; s != nil; s = s.Hidden() {
		var all []int
		first, end := lines(s, family)
		for n := first; n < end; n++ {
			all = append(all, n)
		}
		if len(all) > 0 {
			return s.ValueIndexes(all)
		}
	}
	return nil
}

// sampled are the numbers of a block of the shape that samples are made of, as
// read has them.
func (p *places) sampled(b *exposition.Block) sample {
	return sample{narrow(total(b, p.plain[0], add)), narrow(total(b, p.plain[1], add))}
}

// narrow is a number as a sample has it; what it has no room for is not known, for
// nothing is drawn to the scale of infinity.
func narrow(v float64) float32 {
	if math.Abs(v) > math.MaxFloat32 {
		return float32(math.NaN())
	}
	return float32(v)
}

// total puts the values of series together, NaN where none has one.
func total(b *exposition.Block, series []exposition.ValueIndex, fold func(a, b float64) float64) float64 {
	sum := math.NaN()
	for _, at := range series {
		switch v := b.Number(at); {
		case math.IsNaN(v):
		case math.IsNaN(sum):
			sum = v
		default:
			sum = fold(sum, v)
		}
	}
	return sum
}

// lines is the half-open range of a family's lines; empty when it is not there.
func lines(s *exposition.Shape, family string) (first, end int) {
	all := s.Families()
	i, ok := slices.BinarySearchFunc(all, family, func(f exposition.Family, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return 0, 0
	}
	return all[i].Lines()
}

// failures are the series that count as failures, by model: those that are the
// server's own where the series say so, else all but requests that their clients
// canceled.
func failures(s *exposition.Shape) [][]exposition.ValueIndex {
	var models []labels.Labels
	var byModel [][]int
	first, end := lines(s, errorFamily)
	for n := first; n < end; n++ {
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

// read takes the figures out of a block of the shape that has its values.
func (p *places) read(b *exposition.Block) Figures {
	var f Figures
	for i, r := range readings() {
		set(r.figure(&f), total(b, p.plain[i], r.fold))
	}
	worst := math.NaN()
	for _, model := range p.failures {
		if share := total(b, model, add); math.IsNaN(worst) || share > worst {
			worst = share
		}
	}
	set(&f.Failed, worst)
	return f
}

// set sets a figure that is known.
func set(figure **float64, v float64) {
	if !math.IsNaN(v) {
		*figure = &v
	}
}
