package collector

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// identity is who a replica is, as far as is known: what the operator
// declared, what the server answered and what its page names. It is immutable.
type identity struct {
	kind          engine.Kind
	engineVersion string
	trtllmVersion string
	source        engine.VersionSource
	topology      *engine.Topology
	// models are what the server said of its models.
	models []engine.ModelFacts
}

// identify puts together what is known of a replica.
func identify(t *target.Target, e engine.Engine, facts *engine.Facts, onPage []string, modelIDs map[string][]string) *identity {
	id := &identity{kind: e.Kind(), engineVersion: t.EngineVersion}
	if id.engineVersion == "" {
		id.engineVersion = facts.EngineVersion
	}
	if id.engineVersion == "" {
		id.engineVersion = relabel.Unknown
	}
	id.trtllmVersion, id.source = facts.ResolveVersion(e, t.TRTLLMVersion)
	id.topology = engine.NewTopology(e, onPage, facts.Models, modelIDs)
	id.models = facts.Models
	return id
}

// equal says whether both give every series the same labels.
func (id *identity) equal(o *identity) bool {
	return o != nil && id.kind == o.kind && id.engineVersion == o.engineVersion &&
		id.trtllmVersion == o.trtllmVersion && id.source == o.source && id.topology.Equal(o.topology) &&
		slices.EqualFunc(id.models, o.models, sameModel)
}

// sameModel says whether two answers about models are alike.
func sameModel(a, b engine.ModelFacts) bool {
	return a.Name == b.Name && a.Configured == b.Configured && a.Decoupled == b.Decoupled && a.Backend == b.Backend && a.Platform == b.Platform
}

// labeler returns what gives the replica's own series their labels.
func (id *identity) labeler(t *target.Target, p *pool) exposition.Labeler {
	r := relabel.New(p.cfg.MetricRelabelConfigs, relabel.Identity{
		Engine:        string(id.kind),
		EngineVersion: id.engineVersion,
		TRTLLMVersion: id.trtllmVersion,
		PoolID:        t.PoolID,
		ReplicaID:     t.ReplicaID,
		Labels:        t.Labels,
		ModelID:       id.topology.ModelID,
		Versions:      relabel.VersionsMode(p.versions),
		HonorLabels:   p.cfg.HonorLabels,
		ModelLabels:   engine.ModelLabels(),
	})
	return func(in labels.Labels) exposition.Labelled {
		out := r.Series(in)
		return exposition.Labelled{Labels: out.Labels, Keep: out.Keep, Drop: out.Reason, Collisions: len(out.Collisions)}
	}
}

// derived is what our own series about the replica carry.
func (id *identity) derived(t *target.Target, p *pool) derive.Identity {
	b := labels.NewBuilder(labels.FromMap(t.Labels))
	b.Set(relabel.LabelEngine, string(id.kind))
	b.Set(relabel.LabelPoolID, t.PoolID)
	b.Set(relabel.LabelReplicaID, t.ReplicaID)
	if p.versions != VersionsInfo {
		b.Set(relabel.LabelEngineVersion, id.engineVersion)
		b.Set(relabel.LabelTRTLLMVersion, id.trtllmVersion)
	}
	return derive.Identity{
		Labels:        b.Labels(),
		EngineVersion: id.engineVersion,
		TRTLLMVersion: id.trtllmVersion,
		Source:        id.source,
		Topology:      id.topology,
	}
}
