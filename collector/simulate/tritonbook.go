package simulate

import "time"

func (t *triton) admit(r *request) bool {
	entry := t.entry()
	if entry.state != modelReady || t.model(roleLLM).state != modelReady {
		// Requests for a model that is not ready get an answer and no count; a BLS
		// model is ready all the same and fails.
		if entry.role == roleBLS && entry.state == modelReady {
			entry.fail("BACKEND")
		}
		return false
	}
	if t.w.failing {
		t.deadStub()
		return false
	}
	if pre := t.model(rolePre); pre != nil && !t.direct() {
		pre.book(t.w.now, call{queue: 109 * time.Microsecond, input: 47 * time.Microsecond, infer: r.preTime, output: 39 * time.Microsecond})
		pre.respond(r.preTime)
	}
	return true
}

// failEntry books a failure of the model over the LLM. Since 24.07 an ensemble
// counts each of its failures twice, whatever its steps count.
func (t *triton) failEntry() {
	entry := t.entry()
	entry.fail("OTHER")
	if entry.role == roleEnsemble && t.version >= triton2407 {
		entry.fail("OTHER")
	}
}

// deadStub books a request that meets a dead stub process.
func (t *triton) deadStub() {
	if entry := t.entry(); entry.role != roleEnsemble {
		entry.fail("BACKEND")
		return
	}
	t.model(rolePre).fail("BACKEND")
	t.failEntry()
}

func (t *triton) accepted(*request) {
	if llm := t.model(roleLLM); llm.pythonRule() {
		// Success is booked at acceptance, and the time is that of handing over.
		llm.book(t.w.now, call{queue: 310 * time.Microsecond, input: 14 * time.Microsecond, infer: 2100 * time.Microsecond, output: 4 * time.Microsecond})
	}
}

func (t *triton) started(r *request) {
	if t.vllm != nil {
		t.vllm.ttft.observe((r.firstToken - r.arrived).Seconds())
	}
	if !t.w.spec.Streaming {
		return
	}
	first := r.firstToken - r.arrived
	t.model(roleLLM).respond(first)
	if entry := t.entry(); entry.role != roleLLM {
		entry.respond(first + r.preTime + r.postTime)
	}
}

func (t *triton) finished(r *request) {
	total := r.lastToken - r.arrived
	llm := t.model(roleLLM)
	work := call{queue: 44 * time.Microsecond, input: 87 * time.Microsecond, infer: total, output: 43 * time.Microsecond}
	if t.w.spec.Kind == KindTritonCore {
		// A plain model waits in Triton's own queue.
		work.queue, work.infer = r.scheduled-r.arrived, r.lastToken-r.scheduled
	}
	if !llm.pythonRule() && (t.trt == nil || t.version > triton2311) {
		llm.book(t.w.now, work)
	}
	if !t.w.spec.Streaming {
		llm.respond(work.total())
	}
	if t.trt != nil {
		t.trt.observeTokens(r)
	}
	if t.vllm != nil {
		t.vllm.finished(r)
	}
	if !t.direct() {
		t.finishEntry(r, work)
	}
}

// finishEntry books the model over the LLM: an ensemble sums the times of its
// steps, so its compute times can exceed its request time.
func (t *triton) finishEntry(r *request, work call) {
	calls := 1
	if t.w.spec.Streaming {
		calls = r.generated
	} else {
		t.bookPost(1, r.postTime)
	}
	if r.stuck {
		return
	}
	entry := t.entry()
	post := postCall(r.postTime).times(calls)
	sum := call{
		queue:  work.queue + 109*time.Microsecond + post.queue,
		input:  work.input + 47*time.Microsecond + post.input,
		infer:  work.infer + r.preTime + post.infer,
		output: work.output + 39*time.Microsecond + post.output,
		wall:   work.total() + r.preTime + r.postTime,
	}
	if entry.pythonRule() {
		sum = call{queue: 59 * time.Microsecond, input: 18 * time.Microsecond, infer: 900 * time.Microsecond, output: 5 * time.Microsecond}
	}
	entry.book(t.w.now, sum)
	if !t.w.spec.Streaming {
		entry.respond(sum.total())
	}
}

// postCall is one postprocessing call that takes infer.
func postCall(infer time.Duration) call {
	return call{queue: 180 * time.Microsecond, input: 60 * time.Microsecond, infer: infer, output: 64 * time.Microsecond}
}

func (t *triton) bookPost(n int, each time.Duration) {
	post := t.model(rolePost)
	if post == nil || n == 0 || t.direct() {
		return
	}
	post.bookN(t.w.now, n, postCall(each))
	post.respondN(n, each)
}

// failed books an executor error. In releases up to 24.09 the Python step
// counted it as well; since then the step that answers with an error is a
// success there. The C++ backend reports it as BACKEND.
func (t *triton) failed(r *request) {
	llm, entry := t.model(roleLLM), t.entry()
	switch {
	case t.w.failing:
		// The stubs died under it; only the entry model sees that.
		if entry != llm {
			t.failEntry()
		}
		return
	case llm.pythonRule() && t.version < triton2410:
		llm.fail("OTHER")
	case llm.pythonRule():
	default:
		llm.fail("BACKEND")
	}
	if t.trt != nil {
		t.trt.observeTokens(r)
	}
	if entry != llm {
		t.failEntry()
	}
}

func (t *triton) iterated(it *iteration) {
	if t.w.spec.Streaming {
		t.bookPost(it.tokens, 430*time.Microsecond)
	}
	if t.vllm != nil {
		t.vllm.iterated(it)
	}
}
