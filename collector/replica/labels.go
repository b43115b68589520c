package replica

import (
	"cmp"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// identity is who a replica is, as far as is known: what the operator declared,
// what the server answered and what its page names. But for what it was made
// of, it is immutable.
type identity struct {
	kind          engine.Kind
	engineVersion string
	trtllmVersion string
	source        engine.VersionSource
	topology      *engine.Topology
	// own are the labels of our series about the replica.
	own labels.Labels

	// page and facts are what it was made of, nil for none.
	page  *engine.Page
	facts *engine.Facts
}

// identify brings the labels up to date with what is known now, given what the
// replica's page says; true when they changed. Answers that come later are for
// the next page.
func (r *Replica) identify(page *engine.Page) bool {
	now := r.page.identity
	if now != nil && now.facts == r.answers.facts && now.page == page {
		return false
	}
	next := r.identity(page)
	if next.equal(now) {
		now.page, now.facts = next.page, next.facts
		return false
	}
	r.page.identity = next
	r.status.DetectedEngine = string(r.server.PageOf())
	r.status.EngineVersion, r.status.TRTLLMVersion = next.engineVersion, next.trtllmVersion
	r.status.VersionSource = string(next.source)
	r.page.cache.Relabel(r.labeler(next))
	r.numbers.deriver.Identify(derive.Identity{
		Labels: next.own, EngineVersion: next.engineVersion, TRTLLMVersion: next.trtllmVersion,
		Source: next.source, Topology: next.topology,
	})
	return true
}

// identity puts together what is known of the replica.
func (r *Replica) identity(page *engine.Page) *identity {
	e, facts := r.server.Engine, r.answers.facts
	id := &identity{kind: e.Kind(), page: page, facts: facts}
	if facts == nil {
		facts = &engine.Facts{}
	}
	id.engineVersion = cmp.Or(r.target.EngineVersion, facts.EngineVersion, relabel.Unknown)
	id.trtllmVersion, id.source = facts.ResolveVersion(e, page, r.target.TRTLLMVersion)
	id.topology = engine.NewTopology(e, page.Seen(), facts.Models, r.pool.Labels.ModelIDs)
	b := labels.NewBuilder(labels.FromMap(r.target.Labels))
	b.Set(relabel.LabelEngine, string(id.kind))
	b.Set(relabel.LabelPoolID, r.target.PoolID)
	b.Set(relabel.LabelReplicaID, r.target.ReplicaID)
	if r.pool.Labels.Versions != relabel.VersionsInfo {
		b.Set(relabel.LabelEngineVersion, id.engineVersion)
		b.Set(relabel.LabelTRTLLMVersion, id.trtllmVersion)
	}
	id.own = b.Labels()
	return id
}

// equal says whether both give every series the same labels.
func (id *identity) equal(o *identity) bool {
	return o != nil && id.kind == o.kind && id.engineVersion == o.engineVersion &&
		id.trtllmVersion == o.trtllmVersion && id.source == o.source && id.topology.Equal(o.topology)
}

// labeler gives the replica's own series their labels.
func (r *Replica) labeler(id *identity) exposition.Labeler {
	rules := relabel.New(r.pool.Labels.Rules, relabel.Identity{
		Engine:        string(id.kind),
		EngineVersion: id.engineVersion,
		TRTLLMVersion: id.trtllmVersion,
		PoolID:        r.target.PoolID,
		ReplicaID:     r.target.ReplicaID,
		Labels:        r.target.Labels,
		ModelID:       id.topology.ModelID,
		Versions:      r.pool.Labels.Versions,
		HonorLabels:   r.pool.Labels.Honor,
		ModelLabels:   engine.ModelLabels(),
	})
	return func(in labels.Labels) exposition.Labelled {
		out := rules.Series(in)
		return exposition.Labelled{Labels: out.Labels, Keep: out.Keep, Drop: out.Reason, Collisions: len(out.Collisions)}
	}
}
