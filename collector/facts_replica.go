package collector

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// lore is what a replica's page and API tell together, and what follows from
// it. It is made anew only when one of them tells something else.
type lore struct {
	// known, facts, page, models and api are what it was made of; page is nil
	// while the page fails.
	known   *identity
	facts   *engine.Facts
	page    *engine.Page
	missing bool
	models  []engine.ModelState
	api     engine.APIState
	detail  string

	described    []target.Model
	capabilities []target.Check
	checks       []target.Check
	expected     []target.Check
}

// learn reads the values of a page that say something of its server.
func (r *replica) learn(raw *exposition.Block) {
	if r.seen.Refresh(raw) {
		r.lore = nil
	}
}

// settle brings the lore up to date after a scrape; failed is its error.
func (r *replica) settle(failed error) {
	now := lore{known: r.known, facts: r.facts.Load(), missing: pageMissing(failed)}
	if failed == nil {
		now.page = r.seen
	}
	if h := r.probed.Load(); h != nil {
		now.models, now.api, now.detail = h.Models, h.API, h.Detail
	}
	if r.lore != nil && r.lore.sameAs(&now) {
		return
	}
	now.described = describeModels(&now)
	now.capabilities = engine.Capabilities(r.engine, &engine.Known{
		Page: now.page, MissingPage: now.missing, Facts: now.facts, Health: r.lastHealth(),
		Canary: r.pool.cfg.Probe.Enabled,
	})
	if now.page != nil {
		now.checks = engine.Determinism(r.engine, now.facts, now.page, r.pins())
	}
	now.expected = r.expectations(&now)
	r.lore = &now
	r.traits.Store(traitsOf(&now))
	r.tell()
}

// sameAs says whether both are made of the same.
func (l *lore) sameAs(o *lore) bool {
	return l.known == o.known && l.facts == o.facts && l.page == o.page && l.missing == o.missing &&
		l.api == o.api && l.detail == o.detail && slices.Equal(l.models, o.models)
}

// lastHealth is the last answer about health.
func (r *replica) lastHealth() engine.Health {
	if h := r.probed.Load(); h != nil {
		return h.Health
	}
	return engine.Health{}
}

// pins are the versions that the operator declared or expects.
func (r *replica) pins() engine.Pins {
	e := &r.pool.cfg.Expect
	return engine.Pins{
		EngineVersion: r.target.EngineVersion != "" || e.EngineVersion != "",
		TRTLLMVersion: r.target.TRTLLMVersion != "" || e.TRTLLMVersion != "",
	}
}

// tell copies the lore into the replica's status.
func (r *replica) tell() {
	s, l := &r.status, r.lore
	s.Generation, s.GenerationReason = "", ""
	if l.page != nil {
		generation, why := r.engine.Generation(l.page, l.facts)
		s.Generation, s.GenerationReason = string(generation), why
	}
	s.Models, s.Expectations = l.described, l.expected
	s.Capabilities, s.Determinism = l.capabilities, l.checks
	s.Unanswered, s.EngineBuildVersion = nil, ""
	if l.facts != nil {
		s.EngineBuildVersion = l.facts.BuildVersion
		for _, p := range l.facts.Problems {
			s.Unanswered = append(s.Unanswered, target.Check{Name: p.Question, Reason: p.Reason})
		}
	}
}

// modelsShown bounds the models of one replica that have series of their own.
const modelsShown = 256

// describeModels says what is known of each model: from the configs, from the
// repository index and from the page, which is the last word on what is loaded.
func describeModels(l *lore) []target.Model {
	if l.known == nil {
		return nil
	}
	facts := l.facts
	if facts == nil {
		facts = &engine.Facts{}
	}
	var all []target.Model
	at := make(map[[2]string]bool)
	named := make(map[string]bool)
	add := func(name, version, index string) {
		if name == engine.UnnamedModel || len(all) == modelsShown || at[[2]string{name, version}] || named[name] && version == "" {
			return
		}
		at[[2]string{name, version}], named[name] = true, true
		loaded, known := l.page.Loaded(name)
		m := target.Model{
			Name: name, Version: version, ModelID: l.known.topology.ModelID(name), Role: string(l.known.topology.Role(name)),
			State: engine.StateOfModel(index, loaded, known),
		}
		if f := facts.Model(name); f != nil {
			configured(&m, f)
		}
		all = append(all, m)
	}
	for _, row := range l.models {
		add(row.Name, row.Version, row.State)
	}
	for i := range facts.Models {
		// An index that is newer than the facts speaks first.
		if f := &facts.Models[i]; f.State != "" && l.models == nil {
			add(f.Name, f.Version, f.State)
		}
	}
	for _, name := range l.page.Models() {
		add(name, "", "")
	}
	slices.SortFunc(all, func(a, b target.Model) int {
		return cmpStrings(a.Name, b.Name, a.Version, b.Version)
	})
	return all
}

// configured copies what a model's config says.
func configured(m *target.Model, f *engine.ModelFacts) {
	if !f.Configured {
		return
	}
	m.Backend, m.Platform = f.Backend, f.Platform
	m.MaxBatchSize, m.Decoupled = new(f.MaxBatchSize), new(f.Decoupled)
	m.Batching = new(f.Batching != nil)
	if n := f.InstanceCount(); n > 0 {
		m.Instances = new(n)
	}
	m.Parameters, m.ConfigHash = f.Parameters, f.ConfigHash
}
