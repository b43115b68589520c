package matrix

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// Dialects returns, for each kind of server, its releases that write other pages than the one before, as
// the simulated servers know them.
func Dialects() []Server {
	ours := slices.Concat(
		tritons()[:1], tritons()[2:3], tritons()[5:6], serves()[:3], nims(), dynamos()[:1], dynamos()[2:3],
		vllms()[1:2], sglangs(), withStates(sglangs()[0]), withOptions(serves()[2], vllms()[1], sglangs()[0]),
	)
	var all []Server
	for _, usual := range ours {
		dialects := usual.spec.Kind.Dialects()
		if dialects == nil {
			all = append(all, usual)
		}
		for _, d := range dialects {
			if d.Release != "" && !engineOfNIM(&usual).Hold(d.Release) {
				continue
			}
			s := usual
			s.spec.OldEngine, s.spec.Change = d.OldEngine, d.Change
			if d.Release != "" {
				s.spec.EngineVersion = d.Release
			}
			if d.Release != "" && s.Facts.EngineVersion != "" && s.Kind != engine.NIM { // NIM tells its own.
				s.Facts.EngineVersion = d.Release
			}
			all = append(all, s)
		}
	}
	return all
}

// engineOfNIM returns the releases that a NIM 2.x, all of which are of 2026, may have inside. All may be
// servers of their own.
func engineOfNIM(s *Server) engine.Releases {
	switch {
	case s.Kind != engine.NIM:
		return engine.Releases{}
	case s.spec.Kind == simulate.KindVLLM:
		return engine.Releases{From: "0.13.0"}
	}
	return engine.Releases{From: "0.5.7"}
}

// withOptions returns servers with all that their pages may show besides.
func withOptions(servers ...Server) []Server {
	for i := range servers {
		s := &servers[i]
		s.Name += " with drafts, adapters and transfers"
		s.spec.Drafts, s.spec.Adapters, s.spec.Transfers = true, true, true
	}
	return servers
}

// withStates returns servers whose model has a state for each request, in a pool of their own.
func withStates(servers ...Server) []Server {
	for i := range servers {
		servers[i].Name += " with states"
		servers[i].spec.States = true
	}
	return servers
}

// Change returns the last change to the page of a server between releases, empty without one.
func (s *Server) Change() string { return s.spec.Change }

// Release returns the release of a server's page, empty where only a generation of it is known.
func (s *Server) Release() string { return s.spec.EngineVersion }

// OldEngine reports whether it is a vLLM with engine V0.
func (s *Server) OldEngine() bool { return s.spec.OldEngine }

// Eventful returns a life with all that a page may tell: requests of every outcome, some that run, wait
// and were preempted. At its end none ends any more, so that all counts are settled.
func Eventful() Scenario {
	each := ended(map[engine.Class]int{
		engine.ClassOK: 8, engine.ClassCanceled: 1, engine.ClassClient: 1, engine.ClassServer: 1,
		engine.ClassOverload: 1,
	})
	each.Waiting, each.Preempted = 2, 1
	last := Book{Steps: each.Steps, Running: each.Running, Waiting: each.Waiting}
	sc := Scenario{Name: "eventful", phases: []phase{{pages: 8, each: each}, {pages: 3, each: last}}}
	sc.begin()
	return sc
}
