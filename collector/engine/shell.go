package engine

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// shell is a server around another engine. It shows that engine's series beside or instead of its
// own. Methods that depend on the page delegate to the engine inside; kinds that embed shell handle
// pages without one.
type shell struct{ base }

// engineInside returns the engine inside a server, or nil. It is the first of base.engines whose
// mark begins a name on the page that is not the server's own, since a Triton inside may itself
// show names of vLLM.
func engineInside(e Engine, series []labels.Labels) Engine {
	for _, kind := range e.data().engines {
		in, ok := ByName(string(kind))
		if ok && slices.ContainsFunc(series, func(lset labels.Labels) bool {
			name := lset.Get(model.MetricNameLabel)
			own := func(m mark) bool { return strings.HasPrefix(name, m.text) }
			return strings.HasPrefix(name, in.data().marks[0].text) && !slices.ContainsFunc(e.data().marks, own)
		}) {
			return in
		}
	}
	return nil
}

// meaningsWith returns the meanings that apply with that engine inside: the server's own and those
// of the engine. All of them apply when no name identifies the engine, as when its statistics are
// off.
func meaningsWith(meanings []Indexed, in Engine) []Indexed {
	other := func(m Indexed) bool { return m.Inside != "" && in.Kind() != m.Inside }
	if in == nil || !slices.ContainsFunc(meanings, other) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), other)
}

// withEngines appends the meanings of every engine that may be inside.
func (s *shell) withEngines(own []Meaning) []Meaning {
	for _, kind := range s.engines {
		e, _ := ByName(string(kind))
		for _, m := range e.Meanings() {
			m.Inside = kind
			own = append(own, m)
		}
	}
	return own
}

// inside returns the engine inside, or the defaults for pages without one.
func (s *shell) inside(p *Page) Engine {
	if in := p.Inside(); in != nil {
		return in
	}
	return &s.base
}

func (s *shell) Quirks(p *Page) Quirks       { return s.inside(p).Quirks(p) }
func (s *shell) CountsFailures(p *Page) bool { return s.inside(p).CountsFailures(p) }

func (s *shell) Unserved(p *Page, f *Facts, models []ModelState) string {
	return s.inside(p).Unserved(p, f, models)
}

func (s *shell) Determinism(f *Facts, p *Page) []target.Check {
	return s.inside(p).Determinism(f, p)
}

func (s *shell) arrange(t *Topology, named NamedModels, facts []ModelFacts) {
	if in, ok := ByName(string(named.Inside)); ok {
		in.arrange(t, named, facts)
		return
	}
	s.base.arrange(t, named, facts)
}
