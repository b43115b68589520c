package derive

import (
	"slices"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// inputs lists sets of signals, any of which is sufficient. Without sets, no signal is needed.
type inputs [][]engine.Signal

func allOf(signals ...engine.Signal) inputs { return inputs{signals} }

func anyOf(signals ...engine.Signal) (in inputs) {
	for _, s := range signals {
		in = append(in, []engine.Signal{s})
	}
	return in
}

func (in inputs) or(o inputs) inputs { return slices.Concat(in, o) }

func (in inputs) and(o inputs) (combined inputs) {
	for _, a := range in {
		for _, b := range o {
			combined = append(combined, slices.Concat(a, b))
		}
	}
	return combined
}

// met reports whether a set of signals is complete; has reports which signals there are.
func (in inputs) met(has func(engine.Signal) bool) bool {
	lacks := func(s engine.Signal) bool { return !has(s) }
	complete := func(set []engine.Signal) bool { return !slices.ContainsFunc(set, lacks) }
	return len(in) == 0 || slices.ContainsFunc(in, complete)
}

func (in inputs) kinds() []engine.Name {
	var kinds []engine.Name
	for _, s := range servers() {
		if in.met(func(signal engine.Signal) bool { return s.signals[signal] != nil }) {
			kinds = append(kinds, s.kind)
		}
	}
	return slices.Compact(kinds)
}

// server describes a kind of server with one of its possible engines: its signals and their
// meanings on its page. Signals that are answered by its API have no meanings.
type server struct {
	kind    engine.Name
	inside  engine.Name
	signals map[engine.Signal][]engine.Meaning
}

//nolint:gochecknoglobals // constant data, built on first use.
var servers = sync.OnceValue(func() []server {
	var all []server
	for _, e := range engine.All() {
		for _, inside := range insides(e) {
			s := server{e.Name, inside, make(map[engine.Signal][]engine.Meaning)}
			for _, m := range e.Meanings() {
				if m.Inside == "" || m.Inside == inside {
					s.signals[m.Signal] = append(s.signals[m.Signal], m)
				}
			}
			for _, signal := range e.Answers {
				s.signals[signal] = []engine.Meaning{}
			}
			all = append(all, s)
		}
	}
	return all
})

// insides returns the engines whose metrics a server may pass on, or only the empty kind.
func insides(e *engine.Kind) []engine.Name {
	kinds := []engine.Name{""}
	for _, m := range e.Meanings() {
		if !slices.Contains(kinds, m.Inside) {
			kinds = append(kinds, m.Inside)
		}
	}
	if len(kinds) > 1 {
		return kinds[1:]
	}
	return kinds
}

// labelsOf returns the scope and labels of the series of a signal, over all kinds of servers.
func labelsOf(signal engine.Signal) (Scope, []string) {
	scope, labels := OfReplica, []string(nil)
	for _, s := range servers() {
		for _, m := range s.signals[signal] {
			switch m.Scope() {
			case engine.OfModel:
				scope, labels = OfModel, append(labels, "role", "version")
			case engine.OfEngine:
				if scope != OfModel { // Some servers count per model what others count in total.
					scope = OfEntry
				}
			case engine.OfServer:
			}
			for _, dim := range m.Dims {
				labels = append(labels, dim.Ours)
			}
			if m.Const.Name != "" {
				labels = append(labels, m.Const.Name)
			}
			if m.Outcome != nil && signal != engine.ModelSuccess {
				labels = append(labels, labelClass)
			}
		}
	}
	return scope, labels
}
