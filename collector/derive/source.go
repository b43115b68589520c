package derive

import (
	"slices"
	"strings"
	"unique"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// source is one series of the page in one meaning, under a public model id.
type source struct {
	engine.Source

	// meaning is what it means here: failures of a model that is not loaded are
	// a signal of their own.
	meaning *engine.Meaning
	id      string
	// class is what became of the requests that it counts, empty for what counts
	// no ended requests.
	class engine.Class
}

// classOf is what became of the requests that a source counts, by the first
// label that its meaning keeps.
func classOf(s *engine.Source) engine.Class {
	if s.Meaning.Outcome == nil {
		return ""
	}
	reason := ""
	for _, dim := range s.Meaning.Dims {
		theirs, _ := dimension(dim)
		if reason = s.Labels.Get(theirs); reason != "" {
			break
		}
	}
	return s.Meaning.Outcome.Class(strings.ToLower(reason))
}

// key finds the source on pages of another shape, given the GPUs of the page.
func (s *source) key(gpus []string) columnKey {
	gpu, lset := slices.Index(gpus, s.Labels.Get(exposition.LabelGPU))+1, s.Labels
	if gpu > 0 {
		lset = labels.NewBuilder(lset).Del(exposition.LabelGPU).Labels()
	}
	return columnKey{unique.Make(string(s.Meaning.Signal) + "\x00" + lset.String()), uint8(gpu)}
}

// read takes the sources of a page. Series of a model that is not loaded are
// left out, but for its failures, and so are those of the executor of a draft
// model, whose tokens and blocks are not those of the model that it works for.
func (p *Plan) read(page *engine.Page) {
	for _, s := range page.Sources() {
		meaning := s.Meaning
		if s.Unloaded {
			meaning = unloaded(meaning)
		}
		draft := meaning != nil && meaning.Scope == engine.OfEngine && p.identity.Topology.Role(s.Model) == engine.RoleDraft
		if meaning != nil && !draft && meaning.Holds(p.identity.EngineVersion) {
			p.sources = append(p.sources, source{Source: s, meaning: meaning, id: p.identity.Topology.ModelID(s.Model), class: classOf(&s)})
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
