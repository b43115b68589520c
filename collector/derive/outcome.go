package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// outcome holds the counters of the ended requests of one version, by class.
type outcome struct {
	n int
	// shown lists the classes with series, classes has those of the page.
	shown   []engine.Class
	classes map[engine.Class]*tally
	none    tally
	// well holds what ended well in the engine, of which class ok has what was also answered well.
	well tally
	// both is what was also answered well, if the page counts that.
	both *netCounter
	// doubled is what an ensemble counts twice, nil if it counts nothing so. LLM holds the requests of a part that
	// ends a moment before the entry that calls it.
	doubled  *doubledFailures
	llm, all []int
	// unclear holds the failures that may not be the server's fault.
	unclear []int
	// complete is true if all failures and their classes are known, ownFailures if the model
	// itself counts them.
	complete, ownFailures bool
}

// tally holds the counters of one class: single ones count each request once, double ones of
// ensembles count each failure twice, and net ones are by reason.
type tally struct {
	single, double []int
	net            []*netCounter
	// once counts each request of the class among those of the doubled counters once; nil if there are none.
	once *onceCounter
	// columns holds those that count requests of this class only.
	columns []int
	// partial is true if the server counts only some requests of the class.
	partial bool
}

// classOrder lists the classes in the order in which they are added up.
//
//nolint:gochecknoglobals // constant data.
var classOrder = append(engine.Classes(), engine.ClassUnknown)

// addOutcomes adds how the requests of each version ended, and their failures by reason.
func (ix *index) addOutcomes() {
	for _, m := range ix.having(ended().or(anyOf(workSignals()...))) {
		for _, version := range m.versions {
			version.outcome = ix.outcomeOf(version)
			version.failures = failuresOf(version)
		}
	}
}

// outcomeSignals returns the signals that tell how requests ended.
func outcomeSignals() []engine.Signal {
	return []engine.Signal{
		engine.ModelSuccess, engine.ModelFailed, engine.RequestsFinished, engine.RequestsFailed,
		engine.RequestsAborted, engine.RequestsUnaborted, engine.RequestsStreamed, engine.StreamsUnaborted,
		engine.AnsweredWell, engine.SocketsOpened,
		engine.EngineHeartbeat, // Models with one count their own requests.
	}
}

// outcome returns how the requests of a version ended, nil if nobody knows.
func (v *View) outcome(version *Model) *outcome {
	v.ask(version, outcomeSignals()...)
	return version.outcome
}

// outcomeOf returns the outcome of a version, nil if it has no counters.
func (ix *index) outcomeOf(version *Model) *outcome {
	o := &outcome{classes: make(map[engine.Class]*tally), complete: ix.countsFailures, ownFailures: ix.countsFailures}
	if version.name != "" {
		o.ownFailures = ix.countsOwnRequests(version.of, version.name, version.version)
		o.complete = o.ownFailures || ix.countsOutcomes(version.name)
	}
	recounted := ix.recounted(version)
	ended := version.all(engine.ModelSuccess, engine.RequestsFinished, engine.ModelFailed, engine.RequestsFailed)
	for _, g := range ended {
		o.add(ix, g, slices.Concat(recounted[g.labels.Get("reason")], ix.repeatedBy(g)))
	}
	if len(o.all) == 0 {
		return nil
	}
	o.complete = o.complete && o.classes[engine.ClassUnknown] == nil
	o.addAborted(ix, version.of)
	o.well = *o.tally(engine.ClassOK)
	if version.name == "" {
		ix.addAnswers(o, version)
	}
	for _, class := range classOrder {
		t := o.tally(class)
		slices.SortFunc(t.net, func(a, b *netCounter) int { return strings.Compare(a.reason, b.reason) })
		for _, n := range t.net {
			ix.addNet(version, string(class), n)
		}
	}
	ix.addDoubled(version, o)
	for _, class := range classOrder {
		o.tally(class).count()
	}
	o.well.count()
	o.llm = ix.llmOf(version)
	o.n, o.shown = len(ix.outcomes), ix.classes(o)
	ix.outcomes = append(ix.outcomes, o)
	return o
}

// count lists the columns that count requests of the class, once its net counters are columns.
func (t *tally) count() {
	t.columns = slices.Clone(t.single)
	if t.once != nil {
		t.columns = append(t.columns, t.once.column)
	}
	for _, n := range t.net {
		t.columns = append(t.columns, n.shown)
	}
}

// llmOf returns the counters of requests to parts of a version that ends with them.
func (ix *index) llmOf(version *Model) (columns []int) {
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.ModelFailed} {
		for _, g := range version.of.groups(signal) {
			endsLast := ix.topology.InFlight(g.name) && ix.topology.HandsOver(g.name) == engine.No
			if g.role == engine.RolePart && endsLast && version.name != g.name {
				columns = append(columns, ix.columnsOf(&g.value)...)
			}
		}
	}
	return columns
}

// countsOutcomes reports whether a model counts all its failures, so that its successes are successes.
func (ix *index) countsOutcomes(name string) bool {
	return ix.topology.Uncounted(name, ix.naming.EngineVersion) == ""
}

// repeatedBy returns the counters of models whose requests are counted again by a group.
func (ix *index) repeatedBy(g *group) (columns []int) {
	for _, other := range ix.replica.groups(g.signal) {
		if other.class == g.class && slices.Contains(g.outcome.Repeats, other.labels.Get("reason")) {
			columns = append(columns, ix.columnsOf(&other.value)...)
		}
	}
	return columns
}

// allColumns returns the columns of groups.
func (ix *index) allColumns(groups []*group) (columns []int) {
	for _, g := range groups {
		columns = append(columns, ix.columnsOf(&g.value)...)
	}
	return columns
}

// add adds the counters of a group, minus the counters of requests that are counted twice.
func (o *outcome) add(ix *index, g *group, minus []int) {
	columns, reason := ix.columnsOf(&g.value), g.labels.Get("reason")
	t := o.classes[g.class]
	if t == nil {
		t = &tally{}
		o.classes[g.class] = t
	}
	// A model that counts its own requests includes what the server misses.
	t.partial = t.partial || g.outcome.Misses(g.class) && (!o.ownFailures || g.signal != engine.ModelFailed)
	switch {
	case g.doubles: // All its failures since 24.07.
		t.double = append(t.double, columns...)
	case len(minus) > 0:
		n := t.netOf(reason)
		if n == nil {
			n = &netCounter{reason: reason, minus: minus}
			t.net = append(t.net, n)
		}
		n.plus = append(n.plus, columns...)
	default:
		t.single = append(t.single, columns...)
	}
	if g.class == engine.ClassUnknown && (g.signal == engine.RequestsFailed || g.signal == engine.ModelFailed) {
		o.unclear = append(o.unclear, columns...)
	}
	o.all = slices.Concat(o.all, columns, minus)
}

// addAborted subtracts aborted requests, most of which the server also counts as finished, from
// the successful ones, unless these are compared with its answers, see [index.addAnswers]. At least the requests
// that were measured completely succeeded.
func (o *outcome) addAborted(ix *index, m *Model) {
	aborted := ix.allColumns(m.groups(engine.RequestsAborted))
	if len(aborted) == 0 || ix.quirks.AbortsRepeated {
		return
	}
	complete := ix.allColumns(m.groups(engine.RequestsUnaborted))
	if t := o.classes[engine.ClassOK]; t != nil && !ix.countsAnswers(m) {
		t.net, t.single = []*netCounter{{plus: t.single, minus: aborted, atLeast: complete}}, nil
	}
	o.all = slices.Concat(o.all, aborted, complete)
	o.classes[engine.ClassCanceled] = &tally{single: aborted}
	o.addStreamed(ix, m)
}

// addStreamed excludes aborted streams from the aborted requests that are counted twice, since
// they had already been answered with 200. If the page does not tell how many these are, what is left
// is only a part.
func (o *outcome) addStreamed(ix *index, m *Model) {
	streamed, complete := ix.wholeStreams(m)
	known := len(streamed) > 0
	for _, g := range m.groups(engine.RequestsAborted) {
		for _, t := range o.classes {
			n := t.netOf(g.outcome.Again)
			switch {
			case n == nil || g.outcome.Again == "":
			case known:
				n.atMost = n.plus
				n.plus, n.minus = slices.Concat(n.plus, streamed), slices.Concat(n.minus, complete)
			default:
				t.partial = true
			}
		}
	}
	if known {
		o.all = slices.Concat(o.all, streamed, complete)
	}
}

// wholeStreams returns the counters of streams and of those that completed, if the page shows both.
func (ix *index) wholeStreams(m *Model) (streamed, complete []int) {
	streamed = ix.allColumns(m.groups(engine.RequestsStreamed))
	complete = ix.allColumns(m.groups(engine.StreamsUnaborted))
	if len(streamed) == 0 || len(complete) == 0 {
		return nil, nil
	}
	return streamed, complete
}

// addAnswers makes those requests end well that also have an answer with a status of success. The engine counts
// each of several prompts and completions of one request, and what the API then fails to answer; the API counts
// answers whose client has left. The ranks of a page are those whose requests its API sends them and counts, also
// if every API has ranks of its own, so that all of them are compared together. Requests over sockets have no such
// answer.
func (ix *index) addAnswers(o *outcome, version *Model) {
	t := o.classes[engine.ClassOK]
	if t == nil || len(t.net) > 0 || !ix.countsAnswers(version.of) {
		return
	}
	o.both = ix.answered(t.single, version)
	shown := o.both
	if streamed, complete := ix.wholeStreams(version.of); len(streamed) > 0 && len(o.both.minus) > 0 {
		// What a streamed answer of one token is may be unclear, which accuses nobody.
		shown = ix.answered(t.single, version)
		shown.minus, shown.back, shown.mostAborted = streamed, complete, o.both.minus
		ix.addNet(version, "both", o.both)
	}
	o.classes[engine.ClassOK] = &tally{partial: t.partial, net: []*netCounter{shown}}
	o.all = slices.Concat(o.all, o.both.well, o.both.minus, o.both.back)
}

// answered compares requests that ended in the engine with the answers of the API. An answer that began before its
// client left is none; an aborted request without one is answered with an error.
func (ix *index) answered(ended []int, version *Model) *netCounter {
	m := version.of
	return &netCounter{
		plus:  ended,
		minus: ix.allColumns(m.groups(engine.RequestsAborted)),
		answers: &answers{
			well:    ix.allColumns(m.groups(engine.AnsweredWell)),
			sockets: ix.allColumns(m.groups(engine.SocketsOpened)),
			open: ix.allColumns(m.all(
				engine.RequestsRunning, engine.RequestsWaiting, engine.RequestsTransfer, engine.RequestsHandedOn,
			)),
			accepted: ix.allColumns(m.groups(engine.RequestsOpen)),
			moves:    ix.allColumns(m.all(engine.GenerationTokensLive, engine.EngineIterations)),
			back:     ix.answeredAgain(m),
			failed:   ix.failedAnswers(m),
		},
	}
}

// countsAnswers reports whether the page shows how an API answered requests to a model.
func (ix *index) countsAnswers(m *Model) bool {
	return len(m.groups(engine.AnsweredWell)) > 0 || ix.quirks.AnswersAll && len(ix.failedAnswers(m)) > 0
}

// failedAnswers returns the counters of answers with an error.
func (ix *index) failedAnswers(m *Model) (columns []int) {
	for _, g := range m.groups(engine.RequestsFailed) {
		if g.outcome.Codes {
			columns = append(columns, ix.columnsOf(&g.value)...)
		}
	}
	return columns
}

// answeredAgain returns the counters of answers to aborted requests.
func (ix *index) answeredAgain(m *Model) (columns []int) {
	for _, aborted := range m.groups(engine.RequestsAborted) {
		for _, g := range m.groups(engine.RequestsFailed) {
			if reason := aborted.outcome.Again; reason != "" && reason == g.labels.Get("reason") {
				columns = append(columns, ix.columnsOf(&g.value)...)
			}
		}
	}
	return columns
}

// recounted returns the counters of requests that other counters count again, by reason.
func (ix *index) recounted(version *Model) map[string][]int {
	columns := make(map[string][]int)
	for _, g := range version.all(engine.RequestsFinished, engine.RequestsFailed, engine.RequestsAborted) {
		if reason := g.outcome.Again; reason != "" {
			columns[reason] = append(columns[reason], ix.columnsOf(&g.value)...)
		}
	}
	return columns
}

// classes returns the classes on the page, and also the others, which are 0, if the server counts
// all failures with counters that appear with their first event. Class unknown is for reasons that a later
// release may have, so it has to be on the page.
func (ix *index) classes(o *outcome) []engine.Class {
	return filter(classOrder, func(class engine.Class) bool {
		return o.classes[class] != nil ||
			ix.quirks.CountersAppear && o.ownFailures && class != engine.ClassUnknown && slices.Contains(ix.counted, class)
	})
}

// tally returns the counters of a class, which are not to be changed if the outcome has none.
func (o *outcome) tally(class engine.Class) *tally {
	if t := o.classes[class]; t != nil {
		return t
	}
	return &o.none
}

func (t *tally) netOf(reason string) *netCounter {
	if i := slices.IndexFunc(t.net, func(n *netCounter) bool { return n.reason == reason }); i >= 0 {
		return t.net[i]
	}
	return nil
}

// since returns how many requests of a class ended since a row.
func (o *outcome) since(w *Window, row int, class engine.Class) float64 {
	t := o.classes[class]
	if t == nil {
		return 0
	}
	n := w.increaseFrom(row, t.single)
	for _, c := range t.net {
		increase := func(columns []int) float64 { return w.increaseFrom(row, columns) }
		if c.answers != nil {
			n += increase([]int{c.column})
			continue
		}
		n += c.compute(w.current, increase, increase(c.minus))
	}
	if t.once != nil {
		n += o.doubled.since(w, row, t.once)
	}
	return n
}

// total returns how many requests ended since a row.
func (o *outcome) total(w *Window, row int) (sum float64) {
	for _, class := range classOrder {
		sum += o.since(w, row, class)
	}
	return sum
}

// endedRequests is the number of requests that ended since a row, which is seconds old.
type endedRequests struct {
	row            int
	seconds, total float64
}

// endedOf returns how many requests ended over the longest uninterrupted stretch.
func (v *View) endedOf(o *outcome) (endedRequests, bool) {
	if v.index.building != nil {
		return endedRequests{}, false
	}
	r := &v.ended[o.n]
	if !r.computed {
		r.computed = true
		r.value = endedRequests{}
		if r.value.row, r.value.seconds, r.ok = v.window.stretch(o.all); r.ok {
			r.value.total = o.total(v.window, r.value.row)
		}
	}
	return r.value, r.ok
}

// failure is what a version counts of one reason and class: in groups, or in the column of a net counter, and in that
// of a once counter.
type failure struct {
	reason, class string
	groups        []*group
	net           *netCounter
	once          *onceCounter
}

// failuresOf returns the failures of a version by reason and class, sorted.
func failuresOf(version *Model) (all []failure) {
	byReason := make(map[string]*failure)
	for _, g := range version.all(engine.ModelFailed, engine.RequestsFailed) {
		reason, class := g.labels.Get("reason"), string(g.class)
		f := byReason[reason+"\x00"+class]
		if f == nil {
			f = &failure{reason: reason, class: class, net: version.outcome.tally(g.class).netOf(reason)}
			byReason[reason+"\x00"+class] = f
		}
		if reason != doubledReason || version.outcome.tally(g.class).once == nil {
			f.groups = append(f.groups, g)
		}
	}
	if o := version.outcome; o != nil && o.doubled != nil {
		for _, share := range o.doubled.shares {
			key := share.reason + "\x00" + string(share.class)
			f := cmp.Or(byReason[key], &failure{reason: share.reason, class: string(share.class)})
			f.once, byReason[key] = share, f
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byReason)) {
		all = append(all, *byReason[key])
	}
	return all
}
