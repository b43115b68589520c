package derive

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unique"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// modelVersion is what clients call under a model id: a version of a model if the server counts
// per model, else the zero value, which means the id itself.
type modelVersion struct{ model, version string }

func (p *Plan) versionOf(source int) modelVersion {
	return modelVersion{p.sources[source].Model, p.sources[source].Version}
}

// modelVersions returns the model versions of a model id in order.
func (p *Plan) modelVersions(id string) []modelVersion {
	seen := make(map[modelVersion]bool)
	for _, signal := range []engine.Signal{
		engine.ModelSuccess, engine.ModelFailed, engine.ModelRequestSeconds, engine.ModelRequestDuration, engine.ModelFirstResponse,
	} {
		for _, g := range p.entryGroups(signal, id) {
			seen[modelVersion{g.model, g.version}] = true
		}
	}
	if len(seen) == 0 {
		return []modelVersion{{}}
	}
	return slices.SortedFunc(maps.Keys(seen), modelVersion.compare)
}

// countsOwnRequests reports whether a model itself counts how its requests ended.
func (p *Plan) countsOwnRequests(id string, mv modelVersion) bool {
	return p.countsFailures() && slices.ContainsFunc(p.groupsOf(engine.EngineHeartbeat, id), func(g *group) bool {
		return slices.ContainsFunc(g.members, func(m int) bool { return p.versionOf(m) == mv })
	})
}

// countsAcceptance reports whether a group counts requests that a model accepted and whose end it
// counts itself. Failures in such a group never reached the model.
func (p *Plan) countsAcceptance(g *group) bool {
	return g.signal == engine.ModelSuccess && p.countsOwnRequests(g.id, modelVersion{g.model, g.version})
}

// versionGroups returns the groups of a signal for one model version.
func (p *Plan) versionGroups(signal engine.Signal, id string, mv modelVersion) []*group {
	return filter(p.entryGroups(signal, id), func(g *group) bool {
		return g.meaning.Scope() != engine.OfModel || g.model == mv.model && g.version == mv.version && !p.countsAcceptance(g)
	})
}

func (p *Plan) forModelVersion(id string, mv modelVersion, pairs ...string) labels.Labels {
	if mv.model != "" {
		pairs = append(pairs, "model", mv.model, "version", mv.version)
	}
	return p.forModel(id, pairs...)
}

func eachModelVersion(in inputs, add func(p *Plan, f *Family, id string, mv modelVersion)) Rule {
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		for _, mv := range p.modelVersions(id) {
			add(p, f, id, mv)
		}
	}).by("model", "version")
}

// ended returns the counters of requests that ended, successfully or not.
func ended() inputs {
	return anyOf(engine.ModelSuccess, engine.RequestsFinished, engine.RequestsFailed)
}

// outcome holds the counters of the ended requests of one model version, by class.
type outcome struct {
	classes map[engine.Class]*tally
	// steps holds the failures of an ensemble's parts, otherEntries the failures of other entry models.
	steps, otherEntries, all []int
	// complete is true if all failures and their classes are known, ownFailures if the model
	// itself counts them.
	complete, ownFailures bool
	// ended returns the requests that ended over the longest stretch.
	ended func(w *Window) (endedRequests, bool)
}

// endedRequests is the number of requests that ended since a row, which is seconds old.
type endedRequests struct {
	row            int
	seconds, total float64
}

// tally holds the counters of one class: single ones count each request once, double ones of
// ensembles count each failure twice, and net ones are by reason.
type tally struct {
	single, double []int
	net            []*netCounter
	// partial is true if the server counts only some requests of the class.
	partial bool
}

func (t *tally) netOf(reason string) *netCounter {
	if i := slices.IndexFunc(t.net, func(n *netCounter) bool { return n.reason == reason }); i >= 0 {
		return t.net[i]
	}
	return nil
}

// classOrder lists the classes in the order in which they are added up.
//
//nolint:gochecknoglobals // constant data.
var classOrder = append(engine.Classes(), engine.ClassUnknown)

// outcome returns the outcome of a model version, nil if it has no counters.
func (p *Plan) outcome(id string, mv modelVersion) *outcome {
	key := [3]string{id, mv.model, mv.version}
	if _, ok := p.outcomes[key]; !ok {
		p.outcomes[key] = p.newOutcome(id, mv)
	}
	return p.outcomes[key]
}

func (p *Plan) newOutcome(id string, mv modelVersion) *outcome {
	o := &outcome{classes: make(map[engine.Class]*tally), complete: p.countsFailures(), ownFailures: p.countsFailures()}
	if mv.model != "" {
		o.ownFailures = p.countsOwnRequests(id, mv)
		o.complete = o.ownFailures || p.countsOutcomes(mv.model)
	}
	recounted := p.recounted(id, mv)
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.RequestsFinished, engine.ModelFailed, engine.RequestsFailed} {
		for _, g := range p.versionGroups(signal, id, mv) {
			o.add(p, g, slices.Concat(recounted[g.labels.Get("reason")], p.repeatedBy(g)))
		}
	}
	if len(o.all) == 0 {
		return nil
	}
	o.complete = o.complete && o.classes[engine.ClassUnknown] == nil
	o.addAborted(p, id)
	doubled := false
	for _, class := range classOrder {
		t := o.tally(class)
		slices.SortFunc(t.net, func(a, b *netCounter) int { return strings.Compare(a.reason, b.reason) })
		for _, n := range t.net {
			p.addNet(id, mv, string(class), n)
		}
		doubled = doubled || len(t.double) > 0
	}
	if doubled {
		o.addSteps(p, p.groupsOf(engine.ModelFailed, id), mv)
	}
	o.ended = oncePerPage(p, o.count)
	return o
}

// repeatedBy returns the counters of models whose requests are counted again by a group.
func (p *Plan) repeatedBy(g *group) (columns []int) {
	for _, other := range p.groups[g.signal] {
		if other.class == g.class && slices.Contains(g.meaning.Outcome.Repeats, other.labels.Get("reason")) {
			columns = append(columns, p.columnsOf(other.members)...)
		}
	}
	return columns
}

// columns returns the columns that count requests of this class only.
func (t *tally) columns() []int {
	columns := slices.Concat(t.single, t.double)
	for _, n := range t.net {
		columns = append(columns, n.column)
	}
	return columns
}

// addSteps adds the counters that bound how many failures were counted only once.
func (o *outcome) addSteps(p *Plan, failures []*group, mv modelVersion) {
	for _, g := range failures {
		switch columns := p.columnsOf(g.members); {
		case g.role == engine.RolePart:
			o.steps = append(o.steps, columns...)
		case g.role.Front() && (modelVersion{g.model, g.version}) != mv:
			o.otherEntries = append(o.otherEntries, columns...)
		}
	}
	o.all = slices.Concat(o.all, o.steps, o.otherEntries)
}

// addAborted subtracts aborted requests, most of which the server also counts as finished, from
// the successful ones. At least the requests that were measured completely succeeded.
func (o *outcome) addAborted(p *Plan, id string) {
	aborted := p.groupColumns(p.groupsOf(engine.RequestsAborted, id))
	if len(aborted) == 0 || p.quirks.AbortsRepeated {
		return
	}
	complete := p.groupColumns(p.groupsOf(engine.RequestsUnaborted, id))
	if t := o.classes[engine.ClassOK]; t != nil {
		t.net = []*netCounter{{plus: t.single, minus: aborted, atLeast: complete}}
		t.single = nil
	}
	o.classes[engine.ClassCanceled] = &tally{single: aborted}
	o.all = slices.Concat(o.all, aborted, complete)
	o.addStreamed(p, id)
}

// addStreamed excludes aborted streams from the aborted requests that are counted twice, since
// they had already been answered with 200.
func (o *outcome) addStreamed(p *Plan, id string) {
	streamed, complete := p.groupColumns(p.groupsOf(engine.RequestsStreamed, id)), p.groupColumns(p.groupsOf(engine.StreamsUnaborted, id))
	if len(streamed) == 0 || len(complete) == 0 {
		return
	}
	for _, g := range p.groupsOf(engine.RequestsAborted, id) {
		for _, t := range o.classes {
			if n := t.netOf(g.meaning.Outcome.Again); n != nil && g.meaning.Outcome.Again != "" {
				n.atMost, n.plus, n.minus = n.plus, slices.Concat(n.plus, streamed), slices.Concat(n.minus, complete)
			}
		}
	}
	o.all = slices.Concat(o.all, streamed, complete)
}

// recounted returns the counters of requests that other counters count again, by reason.
func (p *Plan) recounted(id string, mv modelVersion) map[string][]int {
	columns := make(map[string][]int)
	for _, signal := range []engine.Signal{engine.RequestsFinished, engine.RequestsFailed, engine.RequestsAborted} {
		for _, g := range p.versionGroups(signal, id, mv) {
			if reason := g.meaning.Outcome.Again; reason != "" {
				columns[reason] = append(columns[reason], p.columnsOf(g.members)...)
			}
		}
	}
	return columns
}

func (o *outcome) tally(class engine.Class) *tally { return cmp.Or(o.classes[class], &tally{}) }

// add adds the counters of a group, minus the counters of requests that are counted twice.
func (o *outcome) add(p *Plan, g *group, minus []int) {
	columns, reason := p.columnsOf(g.members), g.labels.Get("reason")
	t := o.tally(g.class)
	o.classes[g.class] = t
	// A model that counts its own requests includes what the server misses.
	t.partial = t.partial || g.meaning.Outcome.Misses(g.class) && (!o.ownFailures || g.signal != engine.ModelFailed)
	switch {
	case reason == "other" && p.identity.Topology.Ensemble(g.model): // All its failures since 24.07.
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
	o.all = slices.Concat(o.all, columns, minus)
}

// once returns how many requests a doubled counter counts. Since 24.07 an ensemble counts each of
// its failures when it answers and again when it releases the request (core
// ensemble_scheduler.cc, FinishEnsemble). A failure while other steps still run may count once, so
// the failures of the steps, minus those of other entry models, are the minimum.
func once(double, steps, otherEntries float64) float64 {
	return min(max(double/2, steps-otherEntries), double)
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
		n += c.compute(increase, increase(c.minus))
	}
	if len(t.double) > 0 {
		n += once(w.increaseFrom(row, t.double), w.increaseFrom(row, o.steps), w.increaseFrom(row, o.otherEntries))
	}
	return n
}

// count returns how many requests ended over the longest uninterrupted stretch.
func (o *outcome) count(w *Window) (ended endedRequests, ok bool) {
	if ended.row, ended.seconds, ok = w.stretch(o.all); ok {
		ended.total = o.total(w, ended.row)
	}
	return ended, ok
}

// total returns how many requests ended since a row.
func (o *outcome) total(w *Window, row int) (sum float64) {
	for _, class := range classOrder {
		sum += o.since(w, row, class)
	}
	return sum
}

func requestRate() Rule {
	return eachModelVersion(ended(), func(p *Plan, f *Family, id string, mv modelVersion) {
		if o := p.outcome(id, mv); o != nil {
			p.emit(f, p.forModelVersion(id, mv), p.gate(id, checkFrozen), func(w *Window) (float64, bool) {
				ended, ok := o.ended(w)
				return ended.total / ended.seconds, ok
			})
		}
	}).because(whyOnce)
}

// failuresCounted returns the counters of ended requests of servers that count failures.
func failuresCounted() inputs {
	return allOf(engine.ModelSuccess, engine.ModelFailed).or(allOf(engine.RequestsFailed, engine.FailuresCounted)).
		or(allOf(engine.RequestsFinished, engine.FailuresCounted))
}

// errorRatio exposes the share of requests that did not succeed, by class, for model versions
// whose failures are all counted. A class that is counted only partly appears with its first
// request.
func errorRatio() Rule {
	return eachModelVersion(failuresCounted(), func(p *Plan, f *Family, id string, mv modelVersion) {
		o := p.outcome(id, mv)
		if o == nil || !o.complete {
			return
		}
		for _, class := range p.classes(o) {
			if class == engine.ClassOK {
				continue
			}
			columns, partial := o.tally(class).columns(), o.tally(class).partial
			p.emit(f, p.forModelVersion(id, mv, labelClass, string(class)), p.gate(id, checkFrozen), func(w *Window) (float64, bool) {
				ended, ok := o.ended(w)
				if !ok || ended.total <= 0 || partial && !slices.ContainsFunc(columns, func(c int) bool { return w.current[c] > 0 }) {
					return 0, false
				}
				return o.since(w, ended.row, class) / ended.total, true
			})
		}
	}).by(labelClass).because(whyOnce)
}

// classes returns the classes on the page, and also the others, which are 0, if the server counts
// all failures with counters that appear with their first event.
func (p *Plan) classes(o *outcome) []engine.Class {
	return filter(classOrder, func(class engine.Class) bool {
		return o.classes[class] != nil || p.quirks.CountersAppear && o.ownFailures && slices.Contains(p.counted, class)
	})
}

// requestsTotal counts the requests of entry and single models by class, so that a request to an
// ensemble counts once. Each of Triton's models has a series of its own: in a sum of two models,
// an unload of one would look like a reset of both. For models that do not count all failures, or
// may not, the class of the other requests is unknown. A class that is counted only partly appears
// with its first request.
func requestsTotal() Rule {
	return eachModelVersion(ended(), func(p *Plan, f *Family, id string, mv modelVersion) {
		o := p.outcome(id, mv)
		if o == nil {
			return
		}
		for _, class := range p.classes(o) {
			columns, partial := o.tally(class).columns(), o.tally(class).partial
			if class == engine.ClassOK && mv.model != "" && !o.complete {
				class = engine.ClassUnknown
			}
			gate := p.gate(id, checkFrozen, checkSurvived)
			p.emit(f, p.forModelVersion(id, mv, labelClass, string(class)), gate, func(w *Window) (float64, bool) {
				v, ok := w.totals(columns)
				return v, ok && (v > 0 || !partial)
			})
		}
	}).by(labelClass).because(whyShown)
}

func modelRequests() Rule {
	return Rule{inputs: allOf(engine.ModelSuccess), like: engine.ModelSuccess, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, s := range p.groups[engine.ModelSuccess] {
			failures := p.sameModel(engine.ModelFailed, s)
			p.emit(f, s.labels, p.gate(s.id, checkFrozen, checkSurvived), add(p.value(s), p.sum(failures)))
		}
	}}
}

func requestsFailed() Rule {
	return eachModelVersion(anyOf(engine.ModelFailed, engine.RequestsFailed), func(p *Plan, f *Family, id string, mv modelVersion) {
		byReason := make(map[string][]*group)
		for _, g := range slices.Concat(p.versionGroups(engine.ModelFailed, id, mv), p.versionGroups(engine.RequestsFailed, id, mv)) {
			key := g.labels.Get("reason") + "\x00" + string(g.class)
			byReason[key] = append(byReason[key], g)
		}
		for _, key := range sorted(byReason) {
			e := p.sum(byReason[key])
			reason, class, _ := strings.Cut(key, "\x00")
			if n := p.outcome(id, mv).tally(engine.Class(class)).netOf(reason); n != nil {
				e = func(w *Window) (float64, bool) { return w.Last(n.column) }
			}
			p.emit(f, p.forModelVersion(id, mv, "reason", reason, labelClass, class), p.gate(id, checkFrozen), e)
		}
	}).by(labelClass, "reason").because(whyShown)
}

// netCounter is a column that is not on any page: the sum of some counters minus what others
// count of the same requests.
//
// Both are not updated at once: the others may reach the page some scrapes later, or earlier, and
// may count requests that the first never count, like vLLM when it rejects a stream within an
// answer of 200. Each difference of two pages of today may thus be too large, and what was once
// exposed cannot be taken back: it would look like a reset. So only what both have settled counts:
// the first counters as of a page of some scrapes ago, minus the others as of now. A request that
// the others count up to that much later is never in it, and one that they never count is, once
// they rest. The column is the largest of these differences, each of which is a lower bound.
type netCounter struct {
	reason      string
	column      int
	plus, minus []int
	// atLeast is a lower bound of the column, atMost an upper bound.
	atLeast, atMost []int
	// parts holds the columns of which it is computed.
	parts []int
}

// addNet adds a column. Its key is the same for pages of all shapes.
func (p *Plan) addNet(id string, mv modelVersion, class string, n *netCounter) {
	key := columnKey{series: unique.Make("net\x00" + id + "\x00" + mv.model + "\x00" + mv.version + "\x00" + class + "\x00" + n.reason)}
	// The number at that place is replaced.
	n.column = p.program.addColumn(p.program.places[n.plus[0]], key, false)
	n.parts = slices.Concat(n.plus, n.minus, n.atLeast, n.atMost)
	p.program.net = append(p.program.net, n)
}

// setNet sets the net counters in the row of the next page. They have no value before anything is
// settled, and again after a restart.
func (w *Window) setNet(now int64, t transition, all []*netCounter, row []float64) {
	restarted := t != continues || w.resets(row)
	for _, n := range all {
		v := math.NaN()
		if earlier := w.settled(now, n.parts); earlier != nil && !restarted {
			v = n.value(earlier, row)
		}
		previous, shown := w.current[n.column], !math.IsNaN(n.value(row, row))
		if !restarted && shown && (previous > v || math.IsNaN(v)) {
			v = previous
		}
		row[n.column] = v
	}
}

// settled returns the newest row that is older than what counts as contiguous, nil if any of the
// columns was interrupted since.
func (w *Window) settled(now int64, columns []int) []float64 {
	i, found := slices.BinarySearch(w.times, now-w.gap)
	if !found {
		i--
	}
	if i < 0 || slices.ContainsFunc(columns, func(c int) bool { return w.since[c] > w.times[i] }) {
		return nil
	}
	return w.rows[i]
}

// beginNet begins the net counters one of whose columns has just appeared, and was 0 until then:
// what was exposed before was settled.
func (w *Window) beginNet(all []*netCounter, appeared []int) {
	for _, n := range all {
		isNew := func(c int) bool { return slices.Contains(appeared, c) }
		if math.IsNaN(w.current[n.column]) && slices.ContainsFunc(n.parts, isNew) {
			w.current[n.column] = n.value(w.current, w.current)
		}
	}
}

// value returns the count of a row minus what the others count in a row that is not older. It is
// NaN if a counter is absent.
func (n *netCounter) value(row, newer []float64) float64 {
	return n.compute(func(columns []int) float64 { return sumOf(row, columns) }, sumOf(newer, n.minus))
}

func (n *netCounter) compute(sum func(columns []int) float64, minus float64) float64 {
	v := max(sum(n.plus)-minus, sum(n.atLeast))
	if len(n.atMost) > 0 {
		v = min(v, sum(n.atMost))
	}
	return v
}

// resets reports whether any counter of the next row is lower than on the previous page: its
// process restarted, and may show requests of a path that was not used before.
func (w *Window) resets(row []float64) bool {
	for c, v := range row {
		if w.counter[c] && v < w.current[c] {
			return true
		}
	}
	return false
}
