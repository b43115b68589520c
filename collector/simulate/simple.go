package simulate

import (
	"fmt"
	"net/http"
)

// simple describes a server that needs no code of its own: one Python process with one port, whose
// page shows what happens to requests, and which lists one model.
type simple struct {
	// product is its name with the release.
	product string
	// path is that of the page, by default /metrics; the others are defaults of the spec.
	path, version, model string
	// owner owns the model, by default system.
	owner string
	// prefix begins the names of the families. All series have the name of the model and these labels, which
	// are names and values, alternating.
	prefix   string
	labels   []string
	families []family
	// routes returns answers other than page, models and requests, by default 200 at /health.
	routes func(w *world) map[string]answer
	// python is the version of its Python, by default 3.12.1. The dialect is by default that of a single
	// process, whose histograms are there from the start.
	python  string
	dialect dialect
}

func (s simple) software() software {
	setDefault(&s.path, "/metrics")
	setDefault(&s.owner, "system")
	setDefault(&s.python, "3.12.1")
	if s.dialect.number == nil {
		s.dialect = dialect{number: appendPython, parts: "bcs", sorted: true}
	}
	return software{
		path: s.path, onePort: true, product: s.product, engineVersion: s.version, model: s.model,
		complete: s.check,
		start: func(w *world) server {
			p := &process{plain: plain{w}, simple: s}
			p.observe(w, s.families)
			return p
		},
	}
}

// check refuses families that show nothing.
func (s simple) check(*Spec) error {
	for _, f := range s.families {
		if f.shows == nil {
			return fmt.Errorf("page: family %s shows nothing: asInVLLM knows no such name, so say what it shows", f.name)
		}
	}
	return nil
}

// process is a process of a simple server.
type process struct {
	plain
	booked
	simple
}

func (s *process) failed(*request) { s.failures++ }

// total counts canceled requests by their reason alone.
func (s *process) total(t *Totals) {
	s.booked.total(s.w, t, t.OK)
	if s.failures = t.Failed; t.Canceled > 0 {
		s.reasons = append(s.reasons, reasonCount{"abort", float64(t.Canceled)})
	}
}

func (s *process) page() []byte {
	p := &page{dialect: s.dialect}
	s.w.writePython(p, s.python)
	labels := labeled(pairs("model_name", s.w.spec.Model), s.labels)
	for i := range s.families {
		p.show(s.w, &s.booked, s.prefix, labels, &s.families[i])
	}
	return p.bytes()
}

func (s *process) handlers(r *Replica) []http.Handler {
	routes := map[string]answer{"GET /health": ok(func() any { return nil })}
	if s.routes != nil {
		routes = s.routes(s.w)
	}
	routes["GET "+s.path] = shown(prometheusText, s.page)
	routes["GET /v1/models"] = ok(func() any { return modelList(s.w.start, s.owner, s.w.spec.Model) })
	mux := r.routes(s, routes)
	r.addChat(mux, s)
	return []http.Handler{mux}
}
