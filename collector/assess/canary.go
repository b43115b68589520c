package assess

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// CanaryOrder returns the canary's order for a replica. The identity is nil and the base of the
// API empty if unknown. The model defaults to the entry model.
func CanaryOrder(e *engine.Kind, id *Identity, base, model string, state State) *canary.Order {
	o := &canary.Order{}
	if o.Hold = compose(o, e, id, base, model); o.Hold == "" && Holds(state) {
		o.Hold = "the replica is " + strings.ReplaceAll(string(state), "_", " ")
	}
	return o
}

// compose completes an order, or returns the reason why no requests can be sent.
func compose(o *canary.Order, e *engine.Kind, id *Identity, base, model string) (hold string) {
	switch {
	case id == nil || id.Kind == engine.Unknown:
		return "the server was not recognised yet"
	case base == "":
		return "the API of the server was not found; set api_port or api_path"
	}
	stream, reason := e.Stream(id.EngineVersion, id.Page)
	if reason != "" {
		return reason
	}
	if model == "" {
		if model, reason = id.Topology.EntryModel(); reason != "" {
			return reason
		}
	}
	o.Question = canary.Question{
		Base:      base,
		Model:     model,
		Generate:  stream.Generate,
		Usage:     stream.Usage,
		Seed:      stream.Seed,
		IgnoreEOS: stream.IgnoreEOS,
	}
	o.ModelID = id.Topology.ModelID(model)
	o.Group = strings.Join([]string{string(id.Kind), id.EngineVersion, id.TRTLLMVersion, model}, "\x00")
	o.Key = o.Group + "\x00"
	if id.Facts != nil { // With another config it counts as another server.
		for i := range id.Facts.Models {
			if m := &id.Facts.Models[i]; id.Topology.ModelID(m.Name) == o.ModelID {
				o.Key += m.ConfigHash
			}
		}
	}
	return ""
}
