package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// histograms are those that a formula reads, for a model id: usually one.
type histograms struct {
	inputs inputs
	of     func(p *Plan, id string) []*group
}

// observed are the histograms of a signal.
func observed(signal engine.Signal) histograms {
	return histograms{allOf(signal), func(p *Plan, id string) []*group { return p.of(signal, id) }}
}

// firstTokens are the times to the first token: as exposed, or the times to the
// first response of entry models that stream.
func firstTokens() histograms {
	return histograms{anyOf(engine.FirstToken, engine.ModelFirstResponse), func(p *Plan, id string) []*group {
		if exposed := p.of(engine.FirstToken, id); len(exposed) > 0 {
			return exposed
		}
		return merged(selected(p.front(engine.ModelFirstResponse, id), func(g *group) bool { return p.streams(g.model) }))
	}}
}

// firstToken passes the histogram of first tokens on.
func firstToken() Rule {
	first := firstTokens()
	return eachEntry(first.inputs, func(p *Plan, f *Family, id string) {
		for _, g := range first.of(p, id) {
			p.distribute(f, g, p.forModel(id))
		}
	})
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
// server did not say, one that has the histogram while others have not is
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

// meanOver is the mean of a histogram's observations over the window.
func (p *Plan) meanOver(groups []*group) Eval {
	var sums, counts []int
	for _, g := range groups {
		sums = append(sums, p.columnsOf(g.sum)...)
		counts = append(counts, p.columnsOf(g.count)...)
	}
	return quotient(sums, counts)
}

// mean is the mean of histograms over the window.
func mean(h histograms) Rule {
	return perEntry(term{h.inputs, func(p *Plan, id string) Eval { return p.meanOver(h.of(p, id)) }})
}

// durations are the signals of which [Plan.duration] is made.
func durations() inputs {
	return anyOf(engine.RequestDuration).or(allOf(engine.ModelRequestSeconds, engine.ModelSuccess))
}

// duration is the mean time of an entry's requests over the window, and what
// holds it back.
func (p *Plan) duration(id string) (Eval, int) {
	if exposed := p.meanOver(p.of(engine.RequestDuration, id)); exposed != nil {
		return exposed, 0
	}
	gate := p.and(p.onlyWithout(checkFrozen, id), p.quiet(id))
	times := selected(p.front(engine.ModelRequestSeconds, id), func(g *group) bool { return !p.falsified(g) })
	for _, g := range times {
		gate = p.and(gate, p.onlyWithout(checkDurations, g.model))
	}
	counts := selected(p.front(engine.ModelSuccess, id), func(g *group) bool { return !p.handsOver(g.model) })
	return quotient(p.counted(times), p.counted(counts)), gate
}

// meanDuration is the mean time of an entry's requests.
func meanDuration() Rule {
	return eachEntry(durations(), func(p *Plan, f *Family, id string) {
		e, gate := p.duration(id)
		p.emit(f, p.forModel(id), gate, e)
	})
}

// tokenTimeEstimate is the time between tokens from means alone.
func tokenTimeEstimate() Rule {
	in := durations().and(allOf(engine.ModelFirstResponse, engine.RequestOutputTokens)).with(engine.FirstToken)
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		whole, gate := p.duration(id)
		first, tokens := p.meanOver(firstTokens().of(p, id)), p.meanOver(p.of(engine.RequestOutputTokens, id))
		if whole == nil || first == nil || tokens == nil {
			return
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
	})
}
