package collector

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// keep says what follows from the lore, which is put into words only when it
// is another.
func (a *about) keep(l *lore, id *labels.Builder) {
	if l == nil {
		return
	}
	if a.of != l {
		before := len(a.next)
		a.sayIndex(l, id)
		for i := range l.described {
			a.sayModel(&l.described[i], id)
		}
		a.sayJudged(l, id)
		a.kept, a.of = append(a.kept[:0], a.next[before:]...), l
		return
	}
	a.next = append(a.next, a.kept...)
}

// sayIndex says what the repository index says.
func (a *about) sayIndex(l *lore, id *labels.Builder) {
	for i, m := range l.models {
		if i == modelsShown {
			break
		}
		id.Set("model", m.Name).Set("version", m.Version).Set(relabel.LabelModelID, l.known.topology.ModelID(m.Name))
		a.say("model_ready", id.Labels(), flag(m.State == "READY"))
	}
	id.Del("model", "version", relabel.LabelModelID)
}

// sayModel says what one model is and does.
func (a *about) sayModel(m *target.Model, id *labels.Builder) {
	id.Set("model", m.Name).Set("version", m.Version).Set(relabel.LabelModelID, m.ModelID)
	if m.State != "" {
		for _, s := range engine.ModelStates() {
			a.say("model_state", id.Set("state", s).Labels(), flag(m.State == s))
		}
		id.Del("state")
	}
	details := map[string]string{
		"role": m.Role, "backend": m.Backend, "platform": m.Platform,
		"max_batch_size": number(m.MaxBatchSize), "instance_count": number(m.Instances),
		"decoupled": truth(m.Decoupled), "dynamic_batching": truth(m.Batching),
	}
	for name, value := range details {
		id.Set(name, value)
	}
	a.say("model_info", id.Labels(), 1)
	for name := range details {
		id.Del(name)
	}
	id.Del("version")
	if len(m.Parameters) > 0 {
		for name, value := range m.Parameters {
			id.Set(name, value)
		}
		a.say("model_parameters_info", id.Labels(), 1)
		for name := range m.Parameters {
			id.Del(name)
		}
	}
	if m.ConfigHash != "" {
		a.say("model_config_hash_info", id.Set("sha256", m.ConfigHash[:hashShown]).Labels(), 1)
	}
	id.Del("model", "sha256", relabel.LabelModelID)
}

// hashShown is how much of a hash is on the page; the whole is on /targets.
const hashShown = 12

// number writes what is known; empty labels are no labels.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// truth writes what is known.
func truth(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

// sayJudged says what the exporter makes of the replica.
func (a *about) sayJudged(l *lore, id *labels.Builder) {
	if l.facts != nil && l.facts.BuildVersion != "" {
		a.say("engine_build_info", id.Set("version", l.facts.BuildVersion).Labels(), 1)
		id.Del("version")
	}
	for _, c := range l.capabilities {
		a.say("capability", id.Set("capability", c.Name).Labels(), flag(c.OK))
	}
	id.Del("capability")
	for _, c := range l.checks {
		a.say("determinism_profile", id.Set("check", c.Name).Labels(), flag(c.OK))
	}
	id.Del("check")
	for _, e := range l.expected {
		a.say("expectation_mismatch", id.Set("fact", e.Name).Labels(), flag(!e.OK))
	}
	id.Del("fact")
}
