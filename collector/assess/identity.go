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

// Labels configures how the series of a pool's replicas are labelled. It is only read.
type Labels struct {
	Versions relabel.VersionsMode
	Rules    relabel.Rules
	Honor    bool
	// ModelIDs maps a public model id to the server's names of the model and its parts.
	ModelIDs map[string][]string
}

// LabelTier tells whether a replica is the frontend or a worker of a pool with a router.
const LabelTier = "tier"

// Identity is who a replica is. It is immutable except for Page and Facts.
type Identity struct {
	Kind engine.Kind
	// Identity is what our series about the replica carry.
	derive.Identity

	// Page and Facts are what it was last made of, or nil.
	Page  *engine.Page
	Facts *engine.Facts

	target *target.Target
	how    *Labels
}

// NewIdentity combines what is known of a replica; page and facts may be nil.
func NewIdentity(t *target.Target, how *Labels, e engine.Engine, page *engine.Page, facts *engine.Facts) *Identity {
	id := &Identity{Kind: e.Kind(), Page: page, Facts: facts, target: t, how: how}
	if facts == nil {
		facts = &engine.Facts{}
	}
	id.EngineVersion = cmp.Or(t.EngineVersion, facts.EngineVersion, relabel.Unknown)
	id.TRTLLMVersion, id.Source = facts.ResolveVersion(e, page, t.TRTLLMVersion)
	id.Topology = engine.NewTopology(e, page.NamedModels(), facts.Models, how.ModelIDs)
	b := labels.NewBuilder(labels.FromMap(t.Labels))
	b.Set(relabel.LabelEngine, string(id.Kind))
	b.Set(relabel.LabelPoolID, t.PoolID)
	b.Set(relabel.LabelReplicaID, t.ReplicaID)
	if how.Versions != relabel.VersionsInfo {
		b.Set(relabel.LabelEngineVersion, id.EngineVersion)
		b.Set(relabel.LabelTRTLLMVersion, id.TRTLLMVersion)
	}
	if page != nil {
		if tier := e.Tier(page); tier != "" {
			b.Set(LabelTier, string(tier))
		}
	}
	id.Labels, id.Relabel = b.Labels(), ReplicaLabeler(t, how)
	return id
}

// Equal reports whether both give every series the same labels.
func (id *Identity) Equal(o *Identity) bool {
	return o != nil && id.Kind == o.Kind && id.EngineVersion == o.EngineVersion &&
		id.TRTLLMVersion == o.TRTLLMVersion && id.Source == o.Source && id.Topology.Equal(o.Topology) && labels.Equal(id.Labels, o.Labels)
}

// ReplicaLabeler returns a labeler for our series about a target, which have its
// identity already, or nil if the pool has no rules. It is not safe for concurrent use.
func ReplicaLabeler(t *target.Target, how *Labels) exposition.Labeler {
	if len(how.Rules) == 0 {
		return nil
	}
	rules := relabel.New(how.Rules, relabel.Identity{PoolID: t.PoolID, ReplicaID: t.ReplicaID})
	return func(in labels.Labels) exposition.Labeled { return labelled(rules.ApplyRules(in)) }
}

func labelled(r relabel.Result) exposition.Labeled {
	return exposition.Labeled{Labels: r.Labels, Keep: r.Keep, Drop: r.Reason, Collisions: len(r.Collisions)}
}

// Labeler returns a labeler for the series of the replica's page.
func (id *Identity) Labeler() exposition.Labeler {
	rules := relabel.New(id.how.Rules, relabel.Identity{
		Engine:        string(id.Kind),
		EngineVersion: id.EngineVersion,
		TRTLLMVersion: id.TRTLLMVersion,
		PoolID:        id.target.PoolID,
		ReplicaID:     id.target.ReplicaID,
		Labels:        id.target.Labels,
		ModelID:       id.Topology.ModelID,
		Versions:      id.how.Versions,
		HonorLabels:   id.how.Honor,
		ModelLabels:   engine.ModelLabels(),
	})
	return func(in labels.Labels) exposition.Labeled { return labelled(rules.Series(in)) }
}
