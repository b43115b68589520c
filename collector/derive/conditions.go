package derive

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// DefaultStallAfter is longer than a long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// DefaultFailingMin is how many requests must fail in a row, on failingPages pages or more,
// before an entry counts as failing: two failures a day on a quiet replica are not an outage.
const DefaultFailingMin, failingPages = 5, 2

// Conditions is what the pages say for and against a replica. Requests that the exporter sent itself are left out,
// see [Deriver.BeginOwn].
type Conditions struct {
	Counts

	// Failing lists the entries of which only failures end, the one that failed first in front.
	Failing []Failures
	// Uncounted explains, for models that clients called within the window, why nobody knows how their
	// requests end.
	Uncounted []string
	// Still is the work in flight of which nothing moves, longest first.
	Still []Stillness
	// InFlight is the number of requests in flight, if the page shows them while they run.
	InFlight      float64
	InFlightKnown bool
	// Stepless is true if requests of others are in flight of which the page shows no step, see [Stillness].
	Stepless bool
	// Lasted is how long the requests took that ended on the newest page, on average, if it shows that.
	Lasted time.Duration
}

// Counts is what the pages have shown since the first one.
type Counts struct {
	// Served counts requests that ended well, as far as the server is known to count failures
	// too, Answered those that ended at models which call no other one. Movements counts the pages on which tokens of
	// others moved, Steps those on which an engine computed anything, and Advances those on which it made progress.
	Served, Answered           float64
	Movements, Steps, Advances int
}

// Entry is a model that clients call. Model is empty if the server serves one model, and does not count per model.
// Version is empty unless the page shows several of the model.
type Entry struct{ Model, Version string }

// SpeaksFor reports whether an answer about one entry may be about another one: it is, unless both have
// names which differ.
func (e Entry) SpeaksFor(other Entry) bool {
	models := e.Model == "" || other.Model == "" || e.Model == other.Model
	return models && (e.Version == "" || other.Version == "" || e.Version == other.Version)
}

// Failures are the requests to an entry of which at least [Options.FailingMin] failed by the server's fault, as far
// as is known, while none succeeded. Other failures are ignored.
type Failures struct {
	Entry

	// Part is set if only the requests to this part of the model are known to fail, because the
	// model does not count how its own end, and may do without that part. It is the model itself if clients
	// call the part: no model that calls it counted any request since.
	Part string
	// Unclear is true if the page does not tell whether they failed by the server's fault; it comes after all others.
	// Unanswered is true if it is unclear since others ended in the engine, of which the page does not show an answer.
	Unclear, Unanswered bool
	Requests            float64
	// Since is the time of the page before the first failure, Last that of the page with the latest.
	Since, Last time.Time
	// Acquitted is true if the pages spoke for the replica: too few failed since, or a request to another
	// entry ended well within the window, after this one began to fail. Accused is otherwise the time of
	// the page before the first failure since then.
	Acquitted bool
	Accused   time.Time
}

// Stillness is work in flight without progress for [Options.StallAfter].
type Stillness struct {
	// Entry is what clients call for it, empty if that is not known or is the only one.
	Entry

	// InFlight is the number of its requests, 0 if there is no such work.
	InFlight float64
	// Since is when something moved last, or when the work began.
	Since time.Time
	// Partly is true if other work of the replica moves, which a question cannot tell apart, Left if the requests
	// are no longer in flight and none of them ended, see [Deriver.Convict].
	Partly, Left bool
	// Stepless is true if the page shows no step of its engine, so that one long request looks the same. Pieced
	// is true if none of the requests has been in flight for as long, since the clients of others left before.
	// Outside is true if its requests are in no engine.
	Stepless, Pieced, Outside bool
}

// watch lists what the conditions are based on.
type watch struct {
	entries []watchedEntry
	works   []work
	// tokens holds the counters of tokens and iterations, generated those of generated tokens by signal, and
	// outputs those of tokens of answers.
	tokens    []int
	generated [][]int
	outputs   []int
	// cache holds what shows the use of the KV cache, which changes with the steps of the engine only.
	cache []int
	// flow holds the counters that show tokens of others, leads those that show progress: the tokens of answers if
	// the use of the cache shows the other steps, or else all tokens. Iterations are progress as well, and the flow
	// if the page has no tokens.
	flow, leads []int
	batches     batches
	// answers holds the counters of requests that ended at models which call no other one.
	answers []int
	// gone counts clients that left, canceled the requests that count as canceled.
	gone, canceled []int
	// inFlight lists the models whose requests in flight the page shows while they run.
	inFlight []*Model
	// durations holds the sums of how long requests took, durationsOf counts these requests.
	durations, durationsOf []int
}

// Conditions returns the conditions as of the page that was observed last. At returns when that was which
// [Deriver.Sight] got as now.
func (d *Deriver) Conditions(at func(now time.Duration) time.Time) Conditions {
	c := Conditions{
		Failing:   d.failing(at),
		Uncounted: d.uncounted(),
		Still:     d.still(at),
		Counts:    d.counts,
		Stepless:  d.stepless(),
	}
	c.Served += d.seemed
	c.InFlight, c.InFlightKnown = d.view.requestsInFlight()
	if ended := d.window.growth(d.index.watch.durationsOf); ended > 0 {
		mean := d.window.growth(d.index.watch.durations) / ended
		c.Lasted = time.Duration(mean * float64(time.Second))
	}
	return c
}

// callee returns what clients call a model: a version that they call, or one under its public id. It is
// empty if the page shows no other one.
func (ix *index) callee(m *Model) string {
	switch {
	case m.name != "":
		return m.name
	case m.of == nil && len(m.versions) > 0 && m.versions[0].name != "":
		return m.versions[0].name
	case len(ix.models) < 2:
		return ""
	}
	for _, g := range m.all(outcomeSignals()...) {
		for _, source := range g.value.sources {
			return ix.building.sources[source].name
		}
	}
	return ""
}

// watchConditions lists what the conditions of pages of the shape are based on.
func (ix *index) watchConditions() {
	w := &ix.watch
	for _, m := range ix.having(ended()) {
		w.entries = append(w.entries, ix.entriesOf(m)...)
	}
	for _, m := range ix.having(anyOf(engine.ModelFailed)) {
		w.entries = append(w.entries, ix.openEntries(m)...)
	}
	for _, m := range ix.having(anyOf(workSignals()...)) {
		w.works = append(w.works, ix.works(m)...)
	}
	w.works = append(w.works, ix.queueWorks()...)
	ix.watchSteps()
	w.answers = ix.allColumns(filter(ix.replica.groups(engine.ModelSuccess), (*group).callsNobody))
	w.gone = ix.allColumns(ix.replica.groups(engine.ClientsGone))
	for _, g := range ix.replica.groups(engine.ModelRequestSeconds) {
		if g.role.Front() {
			w.durations = append(w.durations, ix.columnsOf(&g.value)...)
			w.durationsOf = append(w.durationsOf, ix.allColumns(g.instance.groups(engine.ModelSuccess))...)
		}
	}
	if !ix.quirks.GaugesWhenRequestsEnd { // Those gauges are not updated while requests run.
		w.inFlight = ix.having(anyOf(engine.RequestsActive, engine.RequestsRunning))
		ix.building.view.requestsInFlight()
	}
}

// watchSteps lists what shows that the engine works, and for whom.
func (ix *index) watchSteps() {
	w := &ix.watch
	w.tokens = ix.columnsOfAll(stepsOf(ix.replica.groups))
	w.flow = ix.columnsOfAll(stepsOf(ix.replica.tokenGroups))
	if len(w.flow) == 0 {
		w.flow = w.tokens
	}
	w.outputs = ix.columnsOfAll(stepsOf(ix.replica.answerGroups))
	for _, signal := range []engine.Signal{engine.GenerationTokensLive, engine.GenerationTokens} {
		w.generated = append(w.generated, ix.allColumns(filter(ix.replica.groups(signal), (*group).comes)))
	}
	w.cache = ix.allColumns(ix.replica.all(cacheSignals()...))
	w.leads = w.tokens
	if len(w.outputs) > 0 && len(w.cache) > 0 {
		w.leads, w.flow = w.outputs, w.outputs
	}
	w.batches = ix.batchesOf(ix.replica.groups(engine.EngineIterations), ix.replica.groups(engine.RequestsRunning))
}

// callsNobody reports whether a group is of a model that calls no other one, as far as is known.
func (g *group) callsNobody() bool { return g.role != engine.RoleEntry }

// entriesOf returns the entries of a public model, and its parts, which clients may call by themselves.
func (ix *index) entriesOf(m *Model) (all []watchedEntry) {
	for _, version := range m.versions {
		if version.outcome == nil {
			continue
		}
		ix.watch.canceled = append(ix.watch.canceled, version.outcome.tally(engine.ClassCanceled).single...)
		e := version.outcome.watched(version)
		e.answered, e.once = ix.quirks.AnswersAll, ix.allColumns(version.of.groups(engine.RequestsOnce))
		e.callee = ix.callee(version)
		if !slices.ContainsFunc(m.versions, version.isOtherVersion) {
			e.version = ""
		}
		e.why = ix.topology.Uncounted(version.name, ix.naming.EngineVersion)
		all = append(all, e)
		if unclear := version.outcome.unclear; len(unclear) > 0 {
			e.key += "\x00unclear"
			e.failed, e.doubled = *newTally(unclear), nil
			e.unclear = true
			all = append(all, e)
		}
	}
	return append(all, ix.failingBeside(m, engine.RolePart)...)
}

// openEntries returns the models that clients may call, as far as is known.
func (ix *index) openEntries(m *Model) []watchedEntry {
	all := ix.failingBeside(m, engine.RoleUnknown)
	for i, e := range all {
		if !slices.ContainsFunc(all, e.isOtherVersion) {
			all[i].version = ""
		}
		all[i].why = ix.topology.Uncounted(e.model, ix.naming.EngineVersion)
		all[i].trusted = all[i].why == ""
	}
	return all
}

// requestsInFlight returns how many requests are in flight, if the page shows them while they run.
func (v *View) requestsInFlight() (sum float64, ok bool) {
	ok = len(v.index.watch.inFlight) > 0
	for _, m := range v.index.watch.inFlight {
		requests, known := v.inEngine(m)
		if core, shown, knownCore := v.pending(m); shown {
			requests, known = requests+core, known && knownCore
		}
		sum += requests
		ok = ok && known && v.Runs(m)
	}
	return sum, ok
}
