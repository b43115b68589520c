package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// ended returns the counters of requests that ended, successfully or not.
func ended() inputs {
	return anyOf(engine.ModelSuccess, engine.RequestsFinished, engine.RequestsFailed)
}

// failuresCounted returns the counters of ended requests of servers that count failures.
func failuresCounted() inputs {
	return allOf(engine.ModelSuccess, engine.ModelFailed).or(allOf(engine.RequestsFailed, engine.FailuresCounted)).
		or(allOf(engine.RequestsFinished, engine.FailuresCounted))
}

// byOutcome returns a rule that is run for each version and reads how its requests ended.
func byOutcome(needs inputs, set func(v *View, version *Model, out *Out)) Rule {
	return eachVersion(needs, set).reads(outcomeSignals()...)
}

func requestRateRule() Rule { return byOutcome(ended(), requestRate).because(whyOnce) }

// requestRate exposes how many requests ended per second. It is not 0 for entries that nobody calls while clients
// call their LLM.
func requestRate(v *View, version *Model, out *Out) {
	if o := v.outcome(version); o != nil {
		ended, ok := v.endedOf(o)
		ok = ok && (ended.total > 0 || !v.bypassed(version.of, ended.row))
		out.Set(version, ended.total/v.secondsFor(version, ended), ok && v.Trust(version, frozenCounters))
	}
}

// secondsFor returns the time over which the requests of a version ended: that of the version which it takes over
// from, if it was not there before. So the rates of both add up to that of their model.
func (v *View) secondsFor(version *Model, ended endedRequests) float64 {
	seconds := ended.seconds
	if !v.window.absentBefore(ended.row, version.outcome.well.columns) {
		return seconds
	}
	for _, other := range version.of.versions {
		if o := other.outcome; o != nil && version.isOtherVersion(other) {
			before, _ := v.endedOf(o)
			seconds = max(seconds, before.seconds)
		}
	}
	return seconds
}

// bypassed reports whether clients call the LLM behind the entries of a model since a row, and none of these.
func (v *View) bypassed(m *Model, row int) bool {
	var llm, ended float64
	for _, version := range m.versions {
		if o := version.outcome; o != nil {
			llm += v.window.increaseFrom(row, o.llm)
			ended += o.total(v.window, row)
		}
	}
	return llm > 0 && ended == 0
}

func errorRatioRule() Rule {
	return byOutcome(failuresCounted(), errorRatio).by(labelClass).because(whyOnce)
}

// errorRatio exposes the share of requests that did not succeed, by class, for versions
// whose failures are all counted. A class that is counted only partly appears with its first
// request.
func errorRatio(v *View, version *Model, out *Out) {
	o := v.outcome(version)
	if o == nil || !o.complete {
		return
	}
	ended, ok := v.endedOf(o)
	ok = ok && ended.total > 0 && v.Trust(version, frozenCounters)
	mixed := ok && o.isMixed(v.window, ended.row)
	for _, class := range o.shown {
		if class == engine.ClassOK {
			continue
		}
		sure := !mixed || !o.mayBe(class)
		failed, known := 0.0, ok && sure && v.appeared(o.tally(class))
		if known {
			failed = o.since(v.window, ended.row, class)
		}
		out.Set(version, failed/ended.total, known, labelClass, string(class))
	}
}

// appeared reports whether a class is counted completely, or at least one request of it was.
func (v *View) appeared(t *tally) bool {
	return !t.partial || slices.ContainsFunc(t.columns, func(c int) bool { return v.window.current[c] > 0 })
}

func requestsTotalRule() Rule {
	return byOutcome(ended(), requestsTotal).by(labelClass).because(whyShown)
}

// requestsTotal counts the requests of entry and single models by class, so that a request to an
// ensemble counts once. Each of Triton's models has a series of its own: in a sum of two models,
// an unload of one would look like a reset of both. For models that do not count all failures, or
// may not, the class of the other requests is unknown, and no failure that was counted is not 0. A class that
// is counted only partly appears with its first request.
func requestsTotal(v *View, version *Model, out *Out) {
	o := v.outcome(version)
	if o == nil {
		return
	}
	trusted := v.Trust(version, frozenCounters, survivedFailures)
	for _, class := range o.shown {
		t := o.tally(class)
		if class == engine.ClassOK && !o.trusted(version) {
			class = engine.ClassUnknown
		}
		n, ok := v.window.totals(t.columns)
		measured := n > 0 || !t.partial && o.measuresNone(version, class)
		out.Set(version, n, ok && trusted && measured, labelClass, string(class))
	}
}

func modelRequestsRule() Rule {
	return ofPage(allOf(engine.ModelSuccess), engine.ModelSuccess, modelRequests).reads(engine.ModelFailed)
}

// modelRequests counts the requests of each model.
func modelRequests(v *View, out *Out) {
	for _, g := range v.shown(v.index.replica, engine.ModelSuccess).groups {
		n, ok := v.value(g)
		if failed := v.shown(g.instance, engine.ModelFailed); failed != nil {
			more, known := v.sumOf(failed.groups)
			n, ok = n+more, ok && known
		}
		out.SetLabels(g.labels, n, ok && v.Trust(g.model, frozenCounters, survivedFailures))
	}
}

func requestsFailedRule() Rule {
	needs := anyOf(engine.ModelFailed, engine.RequestsFailed)
	return byOutcome(needs, requestsFailed).by(labelClass, "reason").because(whyShown)
}

// measuresNone reports whether a count of 0 says that no request of a class ended.
func (o *outcome) measuresNone(version *Model, class engine.Class) bool {
	return class != engine.ClassServer || o.trusted(version)
}

// requestsFailed counts the failures of a version by reason.
func requestsFailed(v *View, version *Model, out *Out) {
	trusted := v.Trust(version, frozenCounters)
	o := v.outcome(version)
	for i := range version.failures {
		f := &version.failures[i]
		n, ok := v.failed(f)
		measured := n > 0 || o == nil || o.measuresNone(version, engine.Class(f.class))
		measured = measured && (n > 0 || engine.Class(f.class) != engine.ClassUnknown || f.once == nil)
		out.Set(version, n, ok && trusted && measured, "reason", f.reason, labelClass, f.class)
	}
}

// failed returns how many requests failed for one reason.
func (v *View) failed(f *failure) (n float64, ok bool) {
	switch {
	case f.net != nil:
		return v.window.Last(f.net.column)
	case f.once == nil:
		return v.sumOf(f.groups)
	}
	n, ok = v.window.Last(f.once.column)
	if len(f.groups) > 0 {
		more, known := v.sumOf(f.groups)
		n, ok = n+more, ok && known
	}
	return n, ok
}
