package engine

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// shell is a server around an engine whose page it passes on, beside series of its
// own or in their place. What depends on the page it answers as the engine inside
// does; kinds embed it, and answer for pages without an engine.
type shell struct{ base }

// insideOf finds the engine inside a server by the names of its page that are not the
// server's own, the first of those that the kind may be around: a Triton may pass on
// names of vLLM. It is nil where there is none.
func insideOf(e Engine, series []labels.Labels) Engine {
	for _, kind := range e.data().around {
		in, ok := Of(string(kind))
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

// holding are those of a name's meanings that hold beside an engine inside: the
// server's own, and those of that engine. Where no name shows which it is, as for one
// whose statistics are off, those of all do.
func holding(meanings []Indexed, in Engine) []Indexed {
	other := func(m Indexed) bool { return m.Inside != "" && in.Kind() != m.Inside }
	if in == nil || !slices.ContainsFunc(meanings, other) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), other)
}

// with are the meanings of a shell: its own, and those of every engine that may be
// inside.
func (s *shell) with(own []Meaning) []Meaning {
	for _, kind := range s.around {
		own = append(own, inside(kind)...)
	}
	return own
}

// inside are the meanings of a kind as those of a page that another passes on.
func inside(kind Kind) []Meaning {
	e, _ := Of(string(kind))
	all := e.Meanings()
	for i := range all {
		all[i].Inside = kind
	}
	return all
}

// Quirks implements Engine.
func (s *shell) Quirks(p *Page) Quirks {
	if in := p.Inside(); in != nil {
		return in.Quirks(p)
	}
	return s.base.Quirks(p)
}

// CountsFailures implements Engine.
func (s *shell) CountsFailures(p *Page) bool {
	if in := p.Inside(); in != nil {
		return in.CountsFailures(p)
	}
	return s.base.CountsFailures(p)
}

// Unserved implements Engine.
func (*shell) Unserved(p *Page, f *Facts, models []ModelState) string {
	if in := p.Inside(); in != nil {
		return in.Unserved(p, f, models)
	}
	return ""
}

// Determinism implements Engine.
func (*shell) Determinism(f *Facts, p *Page) []target.Check {
	if in := p.Inside(); in != nil {
		return in.Determinism(f, p)
	}
	return nil
}

// arrange implements Engine.
func (s *shell) arrange(t *Topology, seen Seen, facts []ModelFacts) {
	if in, ok := Of(string(seen.Inside)); ok {
		in.arrange(t, seen, facts)
		return
	}
	s.base.arrange(t, seen, facts)
}
