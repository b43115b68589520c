package assess

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// CanaryOrder says what the canary may ask of a replica in a state, given who it
// is (nil when that is not known), where its API is (empty for nowhere) and the
// server's name of the model to ask, its entry model if empty.
func CanaryOrder(e engine.Engine, id *Identity, base, model string, state State) *canary.Order {
	o := &canary.Order{}
	if o.Hold = compose(o, e, id, base, model); o.Hold == "" && consequenceOf(state).rests {
		o.Hold = "the replica is " + strings.ReplaceAll(string(state), "_", " ")
	}
	return o
}

// compose fills an order in; what is in its way comes back.
func compose(o *canary.Order, e engine.Engine, id *Identity, base, model string) (hold string) {
	switch {
	case id == nil || id.Kind == engine.Unknown:
		return "the server was not recognised yet"
	case base == "":
		return "nothing is known to be the API of the server; set api_port or api_path"
	}
	stream, why := e.Stream(id.EngineVersion, id.Page)
	if why != "" {
		return why
	}
	if model == "" {
		if model, why = id.Topology.EntryModel(); why != "" {
			return why
		}
	}
	o.Question = canary.Question{Base: base, Model: model, Generate: stream.Generate, Usage: stream.Usage, Seed: stream.Seed, IgnoreEOS: stream.IgnoreEOS}
	o.ModelID = id.Topology.ModelID(model)
	o.Group = strings.Join([]string{string(id.Kind), id.EngineVersion, id.TRTLLMVersion, model}, "\x00")
	o.Identity = o.Group + "\x00" + configsOf(id, o.ModelID)
	return ""
}

// configsOf are the hashes of the configs of all models under a public id.
func configsOf(id *Identity, modelID string) string {
	if id.Facts == nil {
		return ""
	}
	var b strings.Builder
	for i := range id.Facts.Models {
		if m := &id.Facts.Models[i]; id.Topology.ModelID(m.Name) == modelID {
			b.WriteString(m.ConfigHash)
		}
	}
	return b.String()
}
