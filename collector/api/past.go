package api

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// Past is what was heard last of the health of one server, for answers of which
// there are none yet: that its API is there, and that it was live. The zero value is
// nothing.
type Past struct {
	health *Health
	kind   engine.Kind
	base   string
}

// Past is what was heard of the server that is asked, nil for none; where that is
// nothing it is what was heard before.
func (a *Answers) Past(of *Endpoint, before Past) Past {
	if a.Health == nil || of == nil {
		return before
	}
	return Past{a.Health, of.Engine.Kind(), of.Base}
}

// Remember has what was heard before count, if that was of the server that is
// asked: of this kind, and at this place.
func (a *Answers) Remember(p Past, of *Endpoint) {
	if of != nil && p.kind == of.Engine.Kind() && p.base == of.Base {
		a.earlier = p.health
	}
}
