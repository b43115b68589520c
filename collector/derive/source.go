package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// source is one series of the page in one meaning, under a public model id.
type source struct {
	engine.Source

	// meaning is what it means here: failures of a model that is not loaded are
	// a signal of their own.
	meaning *engine.Meaning
	id      string
}

// key finds the source on pages of another shape.
func (s *source) key() string { return string(s.Meaning.Signal) + "\x00" + s.Labels.String() }

// read takes the sources of a page. Series of a model that is not loaded are
// left out, but for its failures.
func (p *Plan) read(page *engine.Page) {
	for _, s := range page.Sources() {
		meaning := s.Meaning
		if s.Unloaded {
			meaning = unloaded(meaning)
		}
		if meaning != nil {
			p.sources = append(p.sources, source{Source: s, meaning: meaning, id: p.identity.Topology.ModelID(s.Model)})
		}
	}
}

// unloaded is what a series means of a model that is not loaded, nil for
// nothing.
func unloaded(m *engine.Meaning) *engine.Meaning {
	if m.Signal != engine.ModelFailed {
		return nil
	}
	kept := *m
	kept.Signal = unloadedFailures
	return &kept
}
