package derive

import (
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
	if streams, known := p.identity.Topology.Streams(model); known {
		return streams
	}
	have := make(map[string]bool)
	for _, g := range p.groups[engine.ModelFirstResponse] {
		have[g.model] = true
	}
	return len(have) < p.loaded
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
