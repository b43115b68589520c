// Package search makes targets of what discovery found for a pool: it relabels
// them, keeps those of this exporter's shard, and says what became of the others.
// It knows the configuration of the pool, and asks nobody.
package search

import (
	"cmp"
	"log/slog"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Targets turns what discovery found for a pool into the targets of one shard,
// and says what became of the others. One that cannot be used is left out, with a
// word in the log. Nothing is changed of what it is given; it may be called
// concurrently.
func Targets(cfg *config.Pool, part Shard, groups []*targetgroup.Group, log *slog.Logger) ([]*target.Target, target.Search) {
	var found []*target.Target
	p, search := pool{cfg}, target.Search{PoolID: cfg.PoolID, Answered: true}
	for _, g := range groups {
		search.Found += len(g.Targets)
		for _, lset := range g.Targets {
			before := p.labels(g.Labels, lset)
			switch t, err := p.target(before); {
			case err != nil:
				log.Warn("Target left out", "pool_id", p.PoolID, "source", g.Source, "err", err)
				search.LeftOut++
				search.Error = cmp.Or(search.Error, err.Error())
			case t == nil:
				p.dropped(&search, g.Source, before)
			case part.keeps(t.Key()):
				found = append(found, t)
			default:
				search.Elsewhere++
			}
		}
	}
	return found, search
}

// pool is the configuration that the targets are made by.
type pool struct{ *config.Pool }

// dropped notes a target that relabeling dropped; of the first ones also the rule.
func (p pool) dropped(s *target.Search, source string, lset labels.Labels) {
	s.Dropped++
	if len(s.Drops) == target.MaxDrops {
		return
	}
	address := lset.Get(model.AddressLabel)
	public := withoutSecrets(address)
	rule := p.RelabelConfigs.DroppedBy(lset)
	if public != address {
		// A rule about the address quotes it.
		rule = strings.ReplaceAll(rule, strings.Trim(strconv.Quote(address), `"`), public)
	}
	s.Drops = append(s.Drops, target.Drop{Source: source, Address: public, Rule: rule})
}

// labels are a target's labels before relabeling.
func (p pool) labels(group, own model.LabelSet) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(relabel.LabelPoolID, p.PoolID)
	b.Set(model.SchemeLabel, p.Scheme)
	b.Set(model.MetricsPathLabel, p.MetricsPath)
	for _, set := range []model.LabelSet{group, own} {
		for name, value := range set {
			b.Set(string(name), string(value))
		}
	}
	if pod := podName(b); pod != "" && b.Get(relabel.LabelReplicaID) == "" {
		b.Set(relabel.LabelReplicaID, pod)
	}
	return b.Labels()
}

// podName is the pod behind a target that discovery in Kubernetes found. An
// endpoint may be known before its pod is, and Prometheus does not look again
// when the pod comes; but the endpoint itself says whose it is.
func podName(b *labels.Builder) string {
	for _, of := range [...]string{"endpointslice_address", "endpoint_address"} {
		if b.Get(podNameLabel) == "" && b.Get("__meta_kubernetes_"+of+"_target_kind") == "Pod" {
			return b.Get("__meta_kubernetes_" + of + "_target_name")
		}
	}
	return b.Get(podNameLabel)
}
