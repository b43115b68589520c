package simulate

import "time"

func (t *triton) admit(r *request) bool {
	entry, llm := t.entry(), t.model(roleLLM)
	if entry.state != modelReady || llm.state != modelReady {
		// They are not counted. A BLS model stays ready while its LLM unloads, and fails.
		if entry.role == roleBLS && entry.state == modelReady && llm.state == modelUnloading {
			entry.fail("BACKEND", 1)
		}
		return false
	}
	if t.w.failing {
		t.deadStub()
		return false
	}
	if pre := t.model(rolePre); pre != nil {
		pre.book(t.w.now, 1, preCall(r.preTime))
		pre.respond(1, r.preTime)
	}
	if llm.pythonRule() {
		// Success is counted when the request is accepted.
		llm.book(t.w.now, 1, acceptance())
	}
	return true
}

// deadStub counts a request that fails because of a dead stub process.
func (t *triton) deadStub() {
	if entry := t.entry(); entry.role != roleEnsemble {
		entry.fail("BACKEND", 1)
		return
	}
	t.model(rolePre).fail("BACKEND", 1)
	t.failEntry(1)
}

// failEntry counts n failures of the entry, twice for an ensemble since 24.07.
func (t *triton) failEntry(n uint64) {
	entry := t.entry()
	if entry.role == roleEnsemble && t.version >= triton2407 {
		n *= 2
	}
	entry.fail("OTHER", n)
}

func (t *triton) started(r *request) {
	t.backend.started(r)
	if !t.w.spec.Streaming {
		return
	}
	first := r.firstToken - r.arrived
	t.model(roleLLM).respond(1, first)
	if !t.direct() {
		t.entry().respond(1, first+r.preTime+r.postTime)
	}
}

func (t *triton) finished(r *request) {
	llm, work := t.model(roleLLM), callOf(44, 87, r.lastToken-r.arrived, 43)
	if t.kind.queues {
		wait := r.scheduled - r.arrived
		work = callOf(0, 87, r.lastToken-r.scheduled, 43).plus(1, call{wait, wait})
	}
	if !llm.pythonRule() && t.backend.countsLLM() {
		llm.book(t.w.now, 1, work)
	}
	if !t.w.spec.Streaming {
		llm.respond(1, work[0])
	}
	t.backend.finished(r)
	if !t.direct() {
		t.finishEntry(r, work)
	}
}

// total counts requests in each model that they reached. A client that leaves is not noticed.
func (t *triton) total(b *Totals) {
	t.backend.total(b)
	answered := b.OK + b.Canceled
	accepted := answered + b.Failed - b.Crashed
	if pre := t.model(rolePre); pre != nil {
		pre.book(t.w.now, int(accepted)+b.Arrived, preCall(1200*time.Microsecond))
		pre.fail("BACKEND", b.Crashed)
		t.entry().book(t.w.now, int(answered), call{b.E2E, 0, 0, b.E2E, 0})
		t.failEntry(b.Failed)
	}
	if t.w.spec.Streaming {
		t.bookPost(int(b.Tokens), 430*time.Microsecond)
	} else {
		t.bookPost(int(answered), 430*time.Microsecond)
	}
	switch llm := t.model(roleLLM); {
	case t.kind.queues:
		llm.book(t.w.now, int(b.OK), call{b.E2E, b.Queue, 0, b.E2E - b.Queue, 0})
		llm.fail("BACKEND", b.Failed)
		llm.fail("CANCELED", b.Canceled)
		llm.fail("REJECTED", b.Overload)
	case !llm.pythonRule():
		llm.book(t.w.now, int(answered), call{b.E2E, 0, 0, b.E2E, 0})
		llm.fail("BACKEND", b.Failed-b.Crashed)
	case t.direct():
		llm.book(t.w.now, int(accepted)+b.Arrived, acceptance())
		llm.fail("BACKEND", b.Crashed)
	default:
		llm.book(t.w.now, int(accepted), acceptance())
	}
}

// acceptance returns the call that counts as success of a model that answers later.
func acceptance() call { return callOf(310, 14, 2100*time.Microsecond, 4) }

// stuck counts a request like finished, except for the entry model.
func (t *triton) stuck(r *request) { t.finished(r) }

// finishEntry counts a request of the entry; an ensemble adds up the times of its steps.
func (t *triton) finishEntry(r *request, work call) {
	calls := r.generated
	if !t.w.spec.Streaming {
		calls = 1
		t.bookPost(1, r.postTime)
	}
	if r.stuck {
		return
	}
	entry := t.entry()
	sum := work.plus(1, preCall(r.preTime)).plus(calls, postCall(r.postTime))
	sum[0] = work[0] + r.preTime + r.postTime
	if entry.pythonRule() {
		sum = callOf(59, 18, 900*time.Microsecond, 5)
	}
	entry.book(t.w.now, 1, sum)
	if !t.w.spec.Streaming {
		entry.respond(1, sum[0])
	}
}

// preCall and postCall return one call of a step that takes infer.
func preCall(infer time.Duration) call { return callOf(109, 47, infer, 39) }

func postCall(infer time.Duration) call { return callOf(180, 60, infer, 64) }

func (t *triton) bookPost(n int, each time.Duration) {
	if post := t.model(rolePost); post != nil {
		post.book(t.w.now, n, postCall(each))
		post.respond(n, each)
	}
}

// failed counts an executor error. Up to 24.09 the Python step counted it as a failure
// too; since then it counts a success. The C++ backend reports BACKEND.
func (t *triton) failed(r *request) {
	llm := t.model(roleLLM)
	if !t.w.failing {
		switch {
		case !llm.pythonRule():
			llm.fail("BACKEND", 1)
		case t.version < triton2410:
			llm.fail("OTHER", 1)
		}
		t.backend.failed(r)
	}
	// Only the entry model counts requests whose stub died.
	if !t.direct() {
		t.failEntry(1)
	}
}

func (t *triton) iterated(it *iteration) {
	if t.w.spec.Streaming {
		t.bookPost(it.tokens, 430*time.Microsecond)
	}
	t.backend.iterated(it)
}

// Times that a model takes to load and to unload by API.
const modelLoad, modelUnload = 2 * time.Second, 1500 * time.Millisecond

// control starts to load or unload a model.
func (t *triton) control(name string, load bool) {
	m := t.byName(name)
	switch {
	case m == nil:
	case load && m.state == modelUnavailable:
		m.state, m.reason, m.until = modelLoading, "", t.w.now+modelLoad
	case !load && m.state == modelReady:
		m.state, m.until = modelUnloading, t.w.now+modelUnload
	}
}

// lifecycle finishes loads and unloads that are due.
func (t *triton) lifecycle() {
	for _, m := range t.models {
		due := t.w.now >= m.until
		switch {
		case m.state == modelLoading && due:
			t.loaded(m)
		case m.state == modelUnloading && due && (!t.isBusy(m) || t.w.now-m.until > exitTimeout):
			t.unloaded(m)
		}
	}
}

// isBusy reports whether requests in flight keep a model from unloading.
func (t *triton) isBusy(m *model) bool {
	if m.role == rolePre || m.role == roleOther || m.role == roleBLS && t.entry() != m {
		return false
	}
	stuck := t.w.truth.Stuck > 0 && m.role != roleLLM
	return stuck || t.w.engine.inFlight() > 0
}

func (t *triton) loaded(m *model) {
	m.state = modelReady
	m.reset()
	if m.role != roleLLM {
		return
	}
	t.backend.reloaded()
	if e := t.model(roleEnsemble); e != nil && e.state == modelUnavailable {
		t.loaded(e)
	}
}

// unloaded removes a model's core series from the page, except failures and the series
// of a Python model's backend, which freeze. An ensemble unloads with the LLM.
func (t *triton) unloaded(m *model) {
	m.state, m.reason = modelUnavailable, "unloaded"
	if m.role != roleLLM {
		return
	}
	t.w.engine.abort(t.w.truth.bookFailed)
	t.w.load()
	if e := t.model(roleEnsemble); e != nil && e.state == modelReady {
		t.unloaded(e)
	}
}

// ready reports readiness: false while a model loads or unloads, whatever stubs do.
func (t *triton) ready() bool {
	return t.find(func(m *model) bool { return m.state == modelLoading || m.state == modelUnloading }) == nil
}
