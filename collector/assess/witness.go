package assess

import "slices"

// Accusation is what pages, or their absence, say against a replica. It convicts nobody: a healthy
// server may look the same.
type Accusation string

// Accusations.
const (
	Nothing Accusation = "none"
	// OnlyFailures means that requests ended, and all of them by the server's fault.
	OnlyFailures Accusation = "only failures end"
	// PartFails means that only failures end at a part of a model that does not count how its own
	// requests end, and may do without that part.
	PartFails Accusation = "a part only fails"
	// DeclaredFails means that only failures end, as the file says that declares the kind of server: a
	// mistake there would convict a healthy one.
	DeclaredFails Accusation = "only failures end as a kinds_file counts"
	// UnclearFails means that only requests end that failed, perhaps by the clients' fault, or beside others of which
	// nobody knows how they were answered: the page does not tell.
	UnclearFails Accusation = "only failures end, whoever's fault"
	// NothingMoves means that requests are in flight of which nothing moves.
	NothingMoves Accusation = "nothing moves"
	// NoPage means that something answers, and not with a page, or that the page is late while the
	// API answers.
	NoPage Accusation = "the page does not come"
	// Silence means that neither page nor API answers, Refusal that connections are refused or
	// broken off, each on one scrape or on two in a row. SilentFirst is SilentOnce of a replica that never
	// showed its page.
	SilentFirst Accusation = "page and API are silent from the first on"
	SilentOnce  Accusation = "page and API are silent, once"
	Silence     Accusation = "page and API are silent, twice"
	RefusedOnce Accusation = "connections are refused, once"
	Refusal     Accusation = "connections are refused, twice"
)

// Answer is what became of the exporter's own question: a request that it sent after the
// accusation began or, without an accusation, its last canary requests.
type Answer string

// Answers to questions.
const (
	NotAsked Answer = "not asked"
	// Awaited means that the first question after the accusation has no answer yet.
	Awaited  Answer = "awaited"
	Answered Answer = "answered"
	// Unheard means that the failure has another reason perhaps: the connection was cut off or a gateway answered,
	// so that the server may not have got it; it was rejected for lack of capacity behind what stands still; an error
	// came to a request that this process never answered and that may be wrong; one that it did answer was refused; or
	// not a word came, once, where the page shows no step, so that one long request in front looks the same.
	Unheard Answer = "failed, perhaps not by the server"
	// Failed means an answer, or none, that a healthy server does not give. FailedTwice means
	// twice in a row by a canary request that succeeded before with this process, model and text.
	Failed      Answer = "failed"
	FailedTwice Answer = "failed twice, succeeded before"
)

// Word is what the server says of itself by an API that belongs to the page, or on the page.
type Word string

// Words of servers.
const (
	SaysNothing  Word = "unknown"
	SaysReady    Word = "ready"
	SaysNotReady Word = "not ready"
	// AdmitsFailure is SaysNotReady for stall_after, by a process that was ready before.
	AdmitsFailure Word = "not ready for stall_after"
	// SaysNoWorkers means that a router is not ready, which is about its workers.
	SaysNoWorkers Word = "router, not ready"
	// SaysNoWorkersWrongly is SaysNoWorkers since then of a router that serves requests which came after it
	// said so.
	SaysNoWorkersWrongly Word = "router, not ready, and serves"
	// SaysNotReadyWrongly is said of a worker that says it is not ready, or that it starts, and serves requests which
	// came since: whoever routes them does not ask it.
	SaysNotReadyWrongly Word = "worker, not ready, and serves"
	// SaysClosedWrongly is said of a server whose API cannot be reached, which looks as if it shut down, and that
	// serves requests which came since.
	SaysClosedWrongly Word = "API closed, and serves"
	SaysStarting      Word = "starting"
	SaysDraining      Word = "draining"
	// SaysUnserved means that its models are asleep, paused or not loaded.
	SaysUnserved Word = "asleep, paused, unloaded"
	// SaysUnservedWrongly is SaysUnserved, by its list of models, of a server that answers requests.
	SaysUnservedWrongly Word = "unloaded, and serves"
)

// Denies reports whether the server says that it does not serve now.
func (w Word) Denies() bool {
	return !slices.Contains([]Word{
		SaysNothing, SaysReady, SaysNoWorkersWrongly, SaysUnservedWrongly, SaysClosedWrongly, SaysNotReadyWrongly,
	}, w)
}

// refutable returns what requests may refute that came after a server said so, whether they have or not; empty if
// none can.
func (w Word) refutable() Word {
	switch w { //nolint:exhaustive // The others say nothing of the kind.
	case SaysNoWorkers, SaysNoWorkersWrongly:
		return SaysNoWorkers
	case SaysDraining, SaysClosedWrongly:
		return SaysDraining
	case SaysNotReady, SaysStarting, AdmitsFailure, SaysNotReadyWrongly:
		return SaysNotReady
	}
	return ""
}

// Witnesses is everything that decides about a replica.
type Witnesses struct {
	Accusation Accusation
	// Acquitted is true if a request of somebody else ended well since the accusation began or,
	// without an accusation, since the failed canary request was sent, or if a token of one moved.
	Acquitted bool
	Question  Answer
	Word      Word
}

// Probe is the answer of a probe.
type Probe string

// Answers of probes. A probe that cannot judge keeps its last judgment.
const (
	Pass Probe = "200"
	Fail Probe = "503"
	Keep Probe = "as before"
)

// Ruling is a row of the table of verdicts. An empty list of witnesses matches all.
type Ruling struct {
	Accusations []Accusation
	// Acquitted has no value if it makes no difference.
	Acquitted []bool
	Questions []Answer
	Words     []Word

	// State is empty if it depends on the accusation: failing, stalled or not ready.
	State State
	// Look is true for a ready replica that needs attention, Suspected if a question could tell
	// more about it.
	Look, Suspected bool
	Ready, Live     Probe
}

// rulings is the table of verdicts. The first row that matches counts. live is 503 only after a
// question failed, or after the server's own word joined an accusation.
//
//nolint:gochecknoglobals // constant data.
var rulings = []Ruling{
	// Nothing listens any more, so that no word is newer than that.
	{Accusations: accusations(Refusal), State: Down, Ready: Fail, Live: Pass},
	{Accusations: accusations(RefusedOnce), State: Down, Ready: Keep, Live: Keep},

	// The server's word about itself.
	{Words: words(SaysDraining), State: Draining, Ready: Fail, Live: Pass},
	{Words: words(SaysStarting), State: Starting, Ready: Fail, Live: Pass},
	{Words: words(SaysUnserved), State: Unserved, Ready: Fail, Live: Pass},

	// A router. What it passes on convicts nobody but its workers.
	{
		Accusations: accusations(OnlyFailures),
		Acquitted:   no,
		Questions:   noAnswer,
		Words:       words(SaysNoWorkers),
		State:       Failing,
		Ready:       Fail,
		Live:        Pass,
	},
	{Words: words(SaysNoWorkers), State: NotReady, Ready: Fail, Live: Pass},

	// Convictions.
	{
		Accusations: counters,
		Acquitted:   no,
		Questions:   failed,
		Ready:       Fail,
		Live:        Fail,
	},
	{
		Accusations: passive,
		Acquitted:   no,
		Questions:   answers(NotAsked, Awaited, Unheard),
		Words:       words(AdmitsFailure),
		Ready:       Fail,
		Live:        Fail,
	},

	// Nobody restarts a server for one request that takes long, or that may be wrong. While it gets no others, that
	// one ends, or the next question is not answered either.
	{
		Accusations: counters,
		Acquitted:   no,
		Questions:   answers(Unheard),
		Words:       words(SaysReady, SaysNothing),
		Ready:       Fail,
		Live:        Pass,
	},

	// Only failures end: a count, so a fact, though one client's bad requests look the same. A server
	// that says between them that it is not ready is not better off than one that says nothing.
	{
		Accusations: accusations(OnlyFailures),
		Acquitted:   no,
		Questions:   answers(NotAsked, Awaited, Unheard),
		State:       Failing,
		Ready:       Fail,
		Live:        Pass,
	},
	{Words: words(SaysNotReady, AdmitsFailure), State: NotReady, Ready: Fail, Live: Pass},
	{Accusations: accusations(OnlyFailures), State: Ready, Look: true, Ready: Pass, Live: Pass},

	// No page, which says little about requests.
	{Accusations: accusations(Silence), State: Down, Ready: Fail, Live: Keep},
	{Accusations: accusations(SilentFirst), State: Down, Ready: Keep, Live: Keep},
	{Accusations: accusations(SilentOnce), State: Blind, Ready: Keep, Live: Keep},
	{
		Accusations: accusations(NoPage),
		Acquitted:   no,
		Questions:   answers(FailedTwice),
		State:       CanaryFailing,
		Ready:       Fail,
		Live:        Keep,
	},
	{Accusations: accusations(NoPage), State: Blind, Ready: Keep, Live: Keep},

	// Nothing moves, a part only fails, or failures are what a file says: a guess. Of failures that may be the clients'
	// fault it is not even that: a question tells.
	{
		Accusations: signs,
		Acquitted:   no,
		Questions:   answers(NotAsked, Awaited),
		State:       Ready,
		Look:        true,
		Suspected:   true,
		Ready:       Pass,
		Live:        Pass,
	},
	{Accusations: append(accusations(UnclearFails), signs...), State: Ready, Look: true, Ready: Pass, Live: Pass},

	// Nothing but the canary speaks against it.
	{Acquitted: no, Questions: answers(FailedTwice), State: CanaryFailing, Ready: Fail, Live: Pass},
	{Questions: failed, State: Ready, Look: true, Ready: Pass, Live: Pass},
	{
		Words: words(SaysNoWorkersWrongly, SaysUnservedWrongly, SaysClosedWrongly, SaysNotReadyWrongly),
		State: Ready,
		Look:  true,
		Ready: Pass,
		Live:  Pass,
	},
	{State: Ready, Ready: Pass, Live: Pass},
}

// Sets of witnesses for the table.
//
//nolint:gochecknoglobals // constant data.
var (
	failures = accusations(OnlyFailures, PartFails, DeclaredFails, UnclearFails)
	counters = slices.Concat(failures, accusations(NothingMoves))
	passive  = slices.Concat(counters, accusations(NoPage))
	signs    = accusations(PartFails, DeclaredFails, NothingMoves)
	failed   = answers(Failed, FailedTwice)
	no       = []bool{false}
	// noAnswer is everything but an answer.
	noAnswer = answers(NotAsked, Awaited, Unheard, Failed, FailedTwice)
)

func accusations(all ...Accusation) []Accusation { return all }

func answers(all ...Answer) []Answer { return all }

func words(all ...Word) []Word { return all }

// Decide returns the row of the table that applies.
func Decide(w Witnesses) *Ruling {
	return &rulings[slices.IndexFunc(rulings, func(r Ruling) bool { return r.matches(w) })]
}

func (r *Ruling) matches(w Witnesses) bool {
	return contains(r.Accusations, w.Accusation) && contains(r.Acquitted, w.Acquitted) &&
		contains(r.Questions, w.Question) && contains(r.Words, w.Word)
}

// contains reports whether a list contains a value; an empty list contains all.
func contains[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// gravity returns how much a row says against a replica, compared with other rows.
func (r *Ruling) gravity() int {
	switch {
	case r.Live == Fail:
		return 4
	case r.Ready == Fail:
		return 3
	case r.Suspected:
		return 2
	case r.Look:
		return 1
	}
	return 0
}

// StateFor returns the state of a row for an accusation.
func (r *Ruling) StateFor(a Accusation) State {
	switch {
	case r.State != "":
		return r.State
	case slices.Contains(failures, a):
		return Failing
	case a == NothingMoves:
		return Stalled
	}
	return NotReady
}
