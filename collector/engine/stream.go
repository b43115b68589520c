package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stream is how a kind of server streams answers to its clients.
type Stream struct {
	// Generate is true for Triton's generate_stream, false for OpenAI's API.
	Generate bool
	// Usage and Seed say that requests to OpenAI's API may have stream_options
	// and seed. trtllm-serve refuses keys that it does not know
	// (openai_protocol.py, extra="forbid"), and knows both; NIM 1.x is built on
	// a vLLM that did the same before it knew stream_options.
	Usage, Seed bool
}

// minorHangUp is the first minor version of Triton, of 23.12, that bears a client
// which hangs up in the middle of a stream; before, it could crash (server
// commit b876a90f; tensorrtllm_backend, issues 146, 176 and 214).
const minorHangUp = 41

// StreamOf says how a server can be asked for a streamed answer; where it can
// not, or had better not be, why, for people. Version is the server's own, empty
// or "unknown" while it is not known. The page, nil while it is not known,
// tells Dynamo's frontend from its workers.
func StreamOf(kind Kind, version string, p *Page) (s Stream, why string) {
	switch kind {
	case Triton:
		minor, known := tritonMinor(version)
		switch {
		case !known:
			return s, "the version of Triton is not known, and before 23.12 (2.41) a stream that is given up may crash it; set engine_version"
		case minor < minorHangUp:
			return s, "before 23.12 (2.41) a stream that is given up may crash Triton"
		}
		return Stream{Generate: true}, ""
	case TRTLLMServe:
		return Stream{Usage: true, Seed: true}, ""
	case TritonOpenAI:
		return Stream{Usage: true}, ""
	case Dynamo:
		if p != nil && !p.Begins("dynamo_frontend_") {
			return s, "a worker of Dynamo has no API for clients; turn the canary on for its frontend"
		}
		return Stream{Usage: true}, ""
	case NIM:
		return s, ""
	case Unknown:
	}
	return s, "the server was not recognised yet"
}

// EntryModel is the model that clients call; where it is not clear which that
// is, why not, for people. Of ensemble and BLS model over the same parts it is
// the ensemble. Servers with OpenAI's API list a model before its adapters.
func (t *Topology) EntryModel(kind Kind, facts *Facts) (name, why string) {
	if facts == nil {
		facts = &Facts{}
	}
	names := t.inRole(RoleEntry)
	if len(names) == 0 {
		names = t.inRole(RoleSingle)
	}
	switch {
	case len(names) == 0:
		return "", "no model of the server is known yet"
	case len(names) == 1:
		return names[0], ""
	case kind != Triton && kind != TritonOpenAI && len(facts.Models) > 0:
		return facts.Models[0].Name, ""
	}
	best := slices.IndexFunc(names, func(n string) bool {
		if m := facts.Model(n); m != nil && m.Configured {
			return m.Platform == "ensemble"
		}
		return n == "ensemble"
	})
	for _, n := range names {
		if best < 0 || t.ids[n] != t.ids[names[best]] {
			return "", fmt.Sprintf("clients may call any of %s; set canary.model", strings.Join(names, ", "))
		}
	}
	return names[best], ""
}

// inRole are the models of a role in order.
func (t *Topology) inRole(role Role) []string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(t.roles)) {
		if t.roles[n] == role {
			names = append(names, n)
		}
	}
	return names
}
