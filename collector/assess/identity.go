package assess

import (
	"cmp"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Labels configures the labels of the series of a pool's replicas. It is read-only.
type Labels struct {
	Versions relabel.VersionsMode
	Rules    relabel.Rules
	Honor    bool
	// ModelIDs maps a public model id to the server's names of the model and its parts.
	ModelIDs map[string][]string
}

// LabelTier is the label that distinguishes the frontend and the workers of a pool with a router.
const LabelTier = "tier"

// Identity identifies a replica. It is immutable except for what it was last built from.
type Identity struct {
	Kind engine.Name
	// The part of it that derived series need.
	derive.Naming

	// Page, Facts and target are what it was last built from; the first two may be nil.
	Page   *engine.Page
	Facts  *engine.Facts
	target *target.Target

	config      *Labels
	modelLabels []string
}

// NewIdentity combines what is known about a replica; page and facts may be nil.
func NewIdentity(t *target.Target, cfg *Labels, e *engine.Kind, page *engine.Page, facts *engine.Facts) *Identity {
	id := &Identity{
		Kind:        e.Name,
		Page:        page,
		Facts:       facts,
		target:      t,
		config:      cfg,
		modelLabels: e.ModelLabels(),
	}
	if facts == nil {
		facts = &engine.Facts{}
	}
	id.EngineVersion = cmp.Or(t.EngineVersion, facts.EngineVersion, relabel.Unknown)
	id.TRTLLMVersion, id.Source = facts.ResolveVersion(e, page, t.TRTLLMVersion)
	id.Topology = engine.NewTopology(e, page.NamedModels(), facts.Models, cfg.ModelIDs).WithWorkers(facts.Workers)
	b := labels.NewBuilder(labels.FromMap(t.Labels))
	b.Set(relabel.LabelEngine, string(id.Kind))
	b.Set(relabel.LabelPoolID, t.PoolID)
	b.Set(relabel.LabelReplicaID, t.ReplicaID)
	if cfg.Versions != relabel.VersionsInfo {
		b.Set(relabel.LabelEngineVersion, id.EngineVersion)
		b.Set(relabel.LabelTRTLLMVersion, id.TRTLLMVersion)
	}
	if page != nil {
		if tier := e.Tier(page); tier != "" {
			b.Set(LabelTier, string(tier))
		}
	}
	id.Labels, id.Relabel = b.Labels(), ReplicaLabeler(t, cfg)
	return id
}

// Describes reports whether the identity was built from a target.
func (id *Identity) Describes(t *target.Target) bool { return id.target == t }

// Take takes over what an equal identity was built from.
func (id *Identity) Take(o *Identity) { id.Page, id.Facts, id.target = o.Page, o.Facts, o.target }

// Equal reports whether both identities lead to the same labels for every series.
func (id *Identity) Equal(o *Identity) bool {
	return o != nil && id.Kind == o.Kind && id.EngineVersion == o.EngineVersion &&
		id.TRTLLMVersion == o.TRTLLMVersion && id.Source == o.Source && id.Topology.Equal(o.Topology) &&
		labels.Equal(id.Labels, o.Labels)
}

// ReplicaLabeler returns a labeler for our series about a target, which already have its
// identity. It returns nil if the pool has no rules. The labeler is not safe for concurrent use.
func ReplicaLabeler(t *target.Target, cfg *Labels) exposition.Labeler {
	if len(cfg.Rules) == 0 {
		return nil
	}
	rules := relabel.New(cfg.Rules, relabel.TargetLabels{PoolID: t.PoolID, ReplicaID: t.ReplicaID})
	return func(in labels.Labels) exposition.Labeled { return labelled(rules.ApplyRules(in)) }
}

func labelled(r relabel.Result) exposition.Labeled {
	return exposition.Labeled{
		Labels:     r.Labels,
		Keep:       r.Keep,
		Drop:       r.Reason,
		Collisions: len(r.Collisions),
	}
}

// Labeler returns a labeler for the series of the replica's page.
func (id *Identity) Labeler() exposition.Labeler {
	rules := relabel.New(id.config.Rules, relabel.TargetLabels{
		Engine:        string(id.Kind),
		EngineVersion: id.EngineVersion,
		TRTLLMVersion: id.TRTLLMVersion,
		PoolID:        id.target.PoolID,
		ReplicaID:     id.target.ReplicaID,
		Labels:        id.target.Labels,
		ModelID:       id.Topology.ModelID,
		Versions:      id.config.Versions,
		HonorLabels:   id.config.Honor,
		ModelLabels:   id.modelLabels,
	})
	return func(in labels.Labels) exposition.Labeled { return labelled(rules.Series(in)) }
}
