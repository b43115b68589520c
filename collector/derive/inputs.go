package derive

import (
	"slices"
	"strings"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// inputs are sets of signals, each of which is enough for a formula to give a value;
// without any, every server can give one.
type inputs [][]engine.Signal

// allOf are inputs all of which are needed.
func allOf(signals ...engine.Signal) inputs { return inputs{signals} }

// anyOf are inputs each of which is enough.
func anyOf(signals ...engine.Signal) (in inputs) {
	for _, s := range signals {
		in = append(in, []engine.Signal{s})
	}
	return in
}

// or are inputs either of which are enough.
func (in inputs) or(o inputs) inputs { return slices.Concat(in, o) }

// and are inputs both of which are needed.
func (in inputs) and(o inputs) (both inputs) {
	for _, a := range in {
		for _, b := range o {
			both = append(both, slices.Concat(a, b))
		}
	}
	return both
}

// met reports whether the inputs are there, given which signals are.
func (in inputs) met(has func(engine.Signal) bool) bool {
	lacks := func(s engine.Signal) bool { return !has(s) }
	enough := func(set []engine.Signal) bool { return !slices.ContainsFunc(set, lacks) }
	return len(in) == 0 || slices.ContainsFunc(in, enough)
}

// feeders are the kinds of servers that have what the inputs need, from their
// pages and their APIs.
func (in inputs) feeders() []engine.Kind {
	var kinds []engine.Kind
	for _, s := range servers() {
		if in.met(func(signal engine.Signal) bool { return s.signals[signal] != nil }) {
			kinds = append(kinds, s.kind)
		}
	}
	return slices.Compact(kinds)
}

// server is what one kind of server has, with one of the engines that may be inside:
// its signals, with their meanings on its page; those that its API answers have none.
type server struct {
	kind    engine.Kind
	inside  engine.Kind
	signals map[engine.Signal][]engine.Meaning
}

// servers are all kinds of servers.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var servers = sync.OnceValue(func() []server {
	var all []server
	for _, e := range engine.All() {
		for _, inside := range insides(e) {
			s := server{e.Kind(), inside, make(map[engine.Signal][]engine.Meaning)}
			for _, m := range e.Meanings() {
				if m.Inside == "" || m.Inside == inside {
					s.signals[m.Signal] = append(s.signals[m.Signal], m)
				}
			}
			for _, signal := range e.Answers() {
				s.signals[signal] = []engine.Meaning{}
			}
			all = append(all, s)
		}
	}
	return all
})

// insides are the kinds of engines of which a server may pass on a page; that of none
// for one that passes on no other's.
func insides(e engine.Engine) []engine.Kind {
	var kinds []engine.Kind
	for _, m := range e.Meanings() {
		if m.Inside != "" && !slices.Contains(kinds, m.Inside) {
			kinds = append(kinds, m.Inside)
		}
	}
	if len(kinds) == 0 {
		return []engine.Kind{""}
	}
	return kinds
}

// labelsOf are the scope and the labels that the series of a signal have,
// whichever server it is from.
func labelsOf(signal engine.Signal) (Scope, []string) {
	scope, labels := OfReplica, []string(nil)
	for _, s := range servers() {
		for _, m := range s.signals[signal] {
			switch m.Scope {
			case engine.OfModel:
				scope, labels = OfModel, append(labels, "role", "version")
			case engine.OfEngine:
				if scope != OfModel { // Some servers count by model what others count as a whole.
					scope = OfEntry
				}
			case engine.OfServer:
			}
			for _, dim := range m.Dims {
				_, ours := dimension(dim)
				labels = append(labels, ours)
			}
			if name, _, ok := strings.Cut(m.Const, "="); ok {
				labels = append(labels, name)
			}
			if m.Outcome != nil && signal != engine.ModelSuccess {
				labels = append(labels, labelClass)
			}
		}
	}
	return scope, labels
}

// dimension is the server's name of a label that stays, and ours.
func dimension(dim string) (theirs, ours string) {
	theirs, ours, ok := strings.Cut(dim, "=")
	if !ok {
		ours = theirs
	}
	return theirs, ours
}
