package matrix

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Dialects returns, for each kind of server, its releases that write other pages than the one before, as
// the simulated servers know them.
func Dialects() []Server {
	ours := slices.Concat(
		tritons()[:1], tritons()[2:3], tritons()[5:6], serves()[:3], nims()[2:], dynamos()[:1], dynamos()[2:3],
		vllms()[1:2], sglangs(),
	)
	var all []Server
	for _, usual := range ours {
		dialects := usual.spec.Kind.Dialects()
		if dialects == nil {
			all = append(all, usual)
		}
		for _, d := range dialects {
			s := usual
			s.spec.EngineVersion, s.spec.OldEngine = d.Release, d.OldEngine
			if s.Facts.EngineVersion != "" {
				s.Facts.EngineVersion = d.Release
			}
			all = append(all, s)
		}
	}
	return all
}

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
