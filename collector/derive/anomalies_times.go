package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// timesCheck is what the times of a model's requests are compared with.
type timesCheck struct {
	seconds, success *shown
	handsOver        bool
	firstResponse    *shown
	// ensemble holds the times of the ensemble around an LLM.
	ensemble, ensembleSuccess *shown
}

// timesCheck returns what the times of a group can be compared with, nil if nothing.
func (ix *index) timesCheck(g *group) *timesCheck {
	c := &timesCheck{
		seconds:       &shown{groups: []*group{g}},
		success:       g.instance.signals[engine.ModelSuccess],
		handsOver:     ix.handsOver(g.name),
		firstResponse: g.instance.signals[engine.ModelFirstResponse],
	}
	if c.firstResponse != nil && !c.firstResponse.isOne() {
		c.firstResponse = nil
	}
	if ix.executor(g.name) {
		around := func(e *group) bool { return e.role == engine.RoleEntry && ix.topology.Ensemble(e.name) }
		seconds := g.model.groups(engine.ModelRequestSeconds)
		if i := slices.IndexFunc(seconds, around); i >= 0 {
			c.ensemble = &shown{groups: seconds[i : i+1]}
			c.ensembleSuccess = seconds[i].instance.signals[engine.ModelSuccess]
		}
	}
	if c.ensembleSuccess == nil {
		c.ensemble = nil
	}
	if !c.handsOver { // Resets count even if nothing can be compared.
		ix.columnsOf(&g.value)
		ix.building.view.observations(g.instance.signals[engine.ModelFirstResponse])
	}
	if c.success == nil || !c.handsOver && c.firstResponse == nil && c.ensemble == nil {
		return nil
	}
	return c
}

// isOne reports whether a distribution has a single sum and count.
func (s *shown) isOne() bool {
	return len(s.groups) == 1 && len(s.groups[0].sum.sources) == 1 && len(s.groups[0].count.sources) == 1
}

// impossible detects impossible times of a model's requests: a mean first response later than the
// mean duration, or an LLM that takes under a millisecond within an ensemble that takes longer.
// Both compare everything counted since the model was loaded.
func (v *View) impossible(c *timesCheck) finding {
	if c.handsOver { // One request is enough.
		n, ok := v.sumOf(c.success.groups)
		return finding{possible: true, wrong: n > 0, ok: ok}
	}
	const instant, slow, later = 1e-3, 1e-2, 2
	duration, ok := v.meanSince(c.seconds, c.success)
	response, responds := v.meanResponse(c.firstResponse)
	around, isAround := 0.0, false
	if c.ensemble != nil {
		around, isAround = v.meanSince(c.ensemble, c.ensembleSuccess)
	}
	late := responds && response > later*duration && response > instant
	return finding{possible: true, wrong: late || isAround && around > slow && duration < instant, ok: ok}
}

// meanSince returns the mean time of a model's requests since it was loaded.
func (v *View) meanSince(seconds, success *shown) (float64, bool) {
	total, ok := v.sumOf(seconds.groups)
	n, counted := v.sumOf(success.groups)
	return ratio(total, ok, n, counted)
}

// meanResponse returns the mean time to a model's first response since it was loaded.
func (v *View) meanResponse(s *shown) (float64, bool) {
	if s == nil {
		return 0, false
	}
	o := v.observations(s)
	total, ok := v.window.totals(o.sums)
	n, counted := v.window.totals(o.counts)
	return ratio(total, ok, n, counted)
}
