package derive

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// source is one watched series in one meaning.
type source struct {
	watched            int
	place              exposition.Place
	key                string
	meaning            *engine.Meaning
	model, version, id string
}

// read finds the sources. Series of a Triton model that is not loaded are left
// out, but for its failures: after an unload its custom gauges stay on the
// page, frozen, and only nv_inference_request_success leaves it.
func (p *Plan) read(index engine.Index, shape *exposition.Shape) {
	for i := range p.watched {
		if p.watched[i].Labels.Get(model.MetricNameLabel) == "nv_inference_request_success" {
			p.loaded[p.watched[i].Labels.Get("model")] = true
		}
	}
	judge := p.kind == engine.Triton || p.kind == engine.TritonOpenAI
	seen := make(map[string]bool)
	for i := range p.watched {
		lset := p.watched[i].Labels
		named := modelOf(lset)
		if !engine.Served(p.kind, named) {
			continue
		}
		meanings := index[lset.Get(model.MetricNameLabel)]
		for m := range meanings {
			meaning := selects(&meanings[m], lset)
			if judge && named != "" && !p.loaded[named] {
				meaning = unloaded(meaning)
			}
			if meaning == nil {
				continue
			}
			key := string(meanings[m].Signal) + "\x00" + lset.String()
			if seen[key] {
				continue
			}
			seen[key] = true
			p.sources = append(p.sources, source{
				watched: i, place: shape.Place(i), key: key, meaning: meaning, model: named, version: lset.Get("version"),
				id: p.identity.Topology.ModelID(named),
			})
		}
	}
}

// selects gives the meaning back when it is one of the series, else nil.
func selects(m *engine.Meaning, lset labels.Labels) *engine.Meaning {
	if m.Label != "" && lset.Get(m.Label) != m.Value {
		return nil
	}
	return m
}

// unloaded is what a series means of a model that is not loaded, nil for
// nothing.
func unloaded(m *engine.Meaning) *engine.Meaning {
	if m == nil || m.Signal != engine.ModelFailed {
		return nil
	}
	kept := *m
	kept.Signal = unloadedFailures
	return &kept
}

// modelOf is the server's name of the model a series speaks of.
func modelOf(lset labels.Labels) string {
	for _, name := range engine.ModelLabels() {
		if v := lset.Get(name); v != "" {
			return v
		}
	}
	return ""
}
