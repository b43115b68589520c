package simulate

// control begins an unload or a load of a model.
func (t *triton) control(name string, load bool) {
	m := t.byName(name)
	switch {
	case m == nil:
	case load && m.state == modelUnavailable:
		m.state, m.reason, m.until = modelLoading, "", t.w.now+t.w.spec.ModelLoad
	case !load && m.state == modelReady:
		m.state, m.until = modelUnloading, t.w.now+t.w.spec.UnloadDuration
	}
}

// lifecycle ends loads and unloads that are due.
func (t *triton) lifecycle() {
	for _, m := range t.models {
		due := t.w.now >= m.until
		switch {
		case m.state == modelLoading && due:
			t.loaded(m)
		case m.state == modelUnloading && due && (!t.holdsWork(m) || t.w.now-m.until > exitTimeout):
			t.unloaded(m)
		}
	}
}

// holdsWork says that requests in flight keep a model from going.
func (t *triton) holdsWork(m *model) bool {
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

// unloaded takes a model's core series off the page; failures stay, and so do
// the custom series of a Python model, frozen. An ensemble goes with the LLM.
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

// ready is the server's readiness: not while a model loads or unloads, and
// ready again when it is gone; it knows nothing of dead stubs.
func (t *triton) ready() bool {
	return t.find(func(m *model) bool { return m.state == modelLoading || m.state == modelUnloading }) == nil
}
