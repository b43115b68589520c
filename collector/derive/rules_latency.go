package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// firstToken is the time to the first token: as told, or the time to the first
// response of an entry model that streams.
type firstToken struct{}

// Compile implements Rule.
func (firstToken) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.FirstToken, engine.ModelFirstResponse) {
		for _, g := range p.firstTokens(id) {
			p.distribute(f, g, p.forModel(id))
		}
	}
}

// firstTokens are the histograms of first tokens of one model id.
func (p *Plan) firstTokens(id string) []*group {
	if told := p.of(engine.FirstToken, id); len(told) > 0 {
		return told
	}
	var found []*group
	for _, g := range p.front(engine.ModelFirstResponse, id) {
		if p.streams(g.model) {
			found = append(found, g)
		}
	}
	return merged(found)
}

// merged makes one histogram of those of several entries into a deployment;
// none when their bounds differ.
func merged(groups []*group) []*group {
	if len(groups) < 2 {
		return groups
	}
	whole := *groups[0]
	whole.buckets = slices.Clone(whole.buckets)
	for _, g := range groups[1:] {
		if len(g.buckets) != len(whole.buckets) {
			return nil
		}
		for i, b := range g.buckets {
			if b.at != whole.buckets[i].at {
				return nil
			}
			whole.buckets[i].members = slices.Concat(whole.buckets[i].members, b.members)
		}
		whole.sum, whole.count = slices.Concat(whole.sum, g.sum), slices.Concat(whole.count, g.count)
	}
	return []*group{&whole}
}

// streams says whether a model's first response is its first token. Where the
// server did not tell, one that has the histogram while others have not is
// decoupled: up to 25.12 only those had it.
func (p *Plan) streams(model string) bool {
	if m := p.facts[model]; m != nil && m.Configured {
		return m.Decoupled
	}
	have := make(map[string]bool)
	for _, g := range p.groups[engine.ModelFirstResponse] {
		have[g.model] = true
	}
	return len(have) < len(p.loaded)
}

// distributionsOf are the histograms that a signal of an entry stands for.
func (p *Plan) distributionsOf(signal engine.Signal, id string) []*group {
	if signal == engine.FirstToken {
		return p.firstTokens(id)
	}
	return p.of(signal, id)
}

// meanOver is the mean of a histogram's observations over the window.
func (p *Plan) meanOver(groups []*group) Eval {
	var sums, counts []int
	for _, g := range groups {
		sums = append(sums, p.columnsOf(g.sum)...)
		counts = append(counts, p.columnsOf(g.count)...)
	}
	return quotient(sums, counts)
}

// mean is the mean of a histogram over the window.
type mean struct{ of engine.Signal }

// Compile implements Rule.
func (r mean) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.of, engine.ModelFirstResponse) {
		p.emit(f, p.forModel(id), 0, p.meanOver(p.distributionsOf(r.of, id)))
	}
}

// duration is the mean time of an entry's requests over the window, and what
// holds it back.
func (p *Plan) duration(id string) (Eval, int) {
	if told := p.meanOver(p.of(engine.RequestDuration, id)); told != nil {
		return told, 0
	}
	var times, counts []*group
	gate := p.both(p.onlyWithout(checkFrozen, id), p.quiet(id))
	for _, g := range p.front(engine.ModelRequestSeconds, id) {
		if p.falsified(g) {
			continue
		}
		times = append(times, g)
		gate = p.both(gate, p.onlyWithout(checkDurations, g.model))
	}
	for _, g := range p.front(engine.ModelSuccess, id) {
		if !p.handsOver(g.model) {
			counts = append(counts, g)
		}
	}
	return quotient(p.counted(times), p.counted(counts)), gate
}

// meanDuration is the mean time of an entry's requests.
type meanDuration struct{}

// Compile implements Rule.
func (meanDuration) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestDuration, engine.ModelRequestSeconds) {
		e, gate := p.duration(id)
		p.emit(f, p.forModel(id), gate, e)
	}
}

// tokenTimeEstimate is the time between tokens from means alone.
type tokenTimeEstimate struct{}

// Compile implements Rule.
func (tokenTimeEstimate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelFirstResponse) {
		whole, gate := p.duration(id)
		first, tokens := p.meanOver(p.firstTokens(id)), p.meanOver(p.of(engine.RequestOutputTokens, id))
		if whole == nil || first == nil || tokens == nil {
			continue
		}
		p.emit(f, p.forModel(id), gate, func(w *Window) (float64, bool) {
			e2e, okE := whole(w)
			ttft, okT := first(w)
			n, okN := tokens(w)
			if !okE || !okT || !okN || n <= 1 || e2e < ttft {
				return 0, false
			}
			return (e2e - ttft) / (n - 1), true
		})
	}
}

// percentiles are 50, 95 and 99 of a histogram over the window, or of a
// summary as the server gives them.
type percentiles struct{ of, given engine.Signal }

// percentile is a percentage and the quantile it is.
type percentile struct {
	label string
	at    float64
}

// Compile implements Rule.
func (r percentiles) Compile(p *Plan, f *Family) {
	wanted := []percentile{{"50", 0.5}, {"95", 0.95}, {"99", 0.99}}
	for _, id := range p.ids(r.of, r.given, engine.ModelFirstResponse) {
		if groups := p.distributionsOf(r.of, id); len(groups) == 1 {
			h := p.windowed(groups[0])
			if h == nil {
				continue
			}
			for _, q := range wanted {
				p.emit(f, p.forModel(id, "percentile", q.label), 0, func(w *Window) (float64, bool) { return h.quantile(w, q.at) })
			}
			continue
		}
		if r.given != "" {
			p.given(f, id, p.front(r.given, id), wanted)
		}
	}
}

// given passes quantiles of a summary on. Of several entries into a deployment
// one may have had requests; quantiles of two cannot be made one.
func (p *Plan) given(f *Family, id string, groups []*group, wanted []percentile) {
	for _, q := range wanted {
		var columns []int
		gate := p.quiet(id)
		for _, g := range groups {
			i := slices.IndexFunc(g.quantiles, func(v point) bool { return v.at == q.at })
			if i < 0 || p.falsified(g) {
				continue
			}
			columns = append(columns, p.columnsOf(g.quantiles[i].members)...)
			gate = p.both(gate, p.gateOf(g))
		}
		if len(columns) > 0 {
			p.emit(f, p.forModel(id, "percentile", q.label), gate, theOnly(columns))
		}
	}
}

// theOnly is the value of the one column that has any.
func theOnly(columns []int) Eval {
	return func(w *Window) (float64, bool) {
		value, n := 0.0, 0
		for _, c := range columns {
			if v, ok := w.Last(c); ok {
				value, n = v, n+1
			}
		}
		return value, n == 1
	}
}

// windowed is a histogram of the observations of the window. It computes the
// growth of its buckets once a page.
type windowed struct {
	bounds  []float64
	columns [][]int
	grown   []float64
	at      int64
	whole   bool
}

// windowed reads the buckets of a histogram; nil without its last one.
func (p *Plan) windowed(g *group) *windowed {
	n := len(g.buckets)
	if n < 2 || !math.IsInf(g.buckets[n-1].at, 1) {
		return nil
	}
	h := &windowed{grown: make([]float64, n), at: -1}
	divisor := pow10(g.meaning.Shift)
	for _, b := range g.buckets {
		h.bounds = append(h.bounds, b.at/divisor)
		h.columns = append(h.columns, p.columnsOf(b.members))
	}
	return h
}

// read computes how many observations the window has up to each bound.
func (h *windowed) read(w *Window) bool {
	if h.at == w.now {
		return h.whole
	}
	h.at, h.whole = w.now, false
	for i, columns := range h.columns {
		h.grown[i] = 0
		for _, c := range columns {
			grown, _, ok := w.Increase(c)
			if !ok {
				return false
			}
			h.grown[i] += grown
		}
		if i > 0 && h.grown[i] < h.grown[i-1] {
			return false
		}
	}
	h.whole = true
	return true
}

// quantile interpolates inside the bucket that the quantile falls into, as
// Prometheus' histogram_quantile does; there is none without observations.
func (h *windowed) quantile(w *Window, q float64) (float64, bool) {
	last := len(h.bounds) - 1
	if !h.read(w) || !(h.grown[last] > 0) {
		return 0, false
	}
	rank := q * h.grown[last]
	i := slices.IndexFunc(h.grown, func(n float64) bool { return n >= rank })
	if i == last {
		return h.bounds[last-1], true
	}
	below, from := 0.0, 0.0
	if i > 0 {
		below, from = h.grown[i-1], h.bounds[i-1]
	} else if h.bounds[0] <= 0 {
		return h.bounds[0], true
	}
	return from + (h.bounds[i]-from)*(rank-below)/(h.grown[i]-below), true
}
