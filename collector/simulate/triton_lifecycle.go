package simulate

// control starts to load or unload a model.
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

// ready reports the server's readiness: false while a model loads or unloads. Dead stubs
// do not matter.
func (t *triton) ready() bool {
	return t.find(func(m *model) bool { return m.state == modelLoading || m.state == modelUnloading }) == nil
}
