package main

import (
	"fmt"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// naming is what the pod of a sidecar adds to its configuration, so that all
// pods of a Deployment share one file.
type naming struct{ poolID, replicaID string }

// apply gives the one pool, and the one target, of a configuration their names.
func (n naming) apply(f *config.File) error {
	pools := f.Pools
	if n.poolID != "" {
		if len(pools) != 1 {
			return fmt.Errorf("--pool-id: names one pool, and there are %d; set pool_id of each in the file", len(pools))
		}
		pools[0].PoolID = n.poolID
	}
	if n.replicaID == "" {
		return n.validate(f)
	}
	var group *targetgroup.Group
	targets, others := 0, 0
	for i := range pools {
		sd := &pools[i].Discovery
		for _, g := range sd.StaticConfigs {
			if targets += len(g.Targets); len(g.Targets) > 0 {
				group = g
			}
		}
		others += sd.Sources()
	}
	if targets != 1 || others != 1 {
		return fmt.Errorf("--replica-id: names one static target, and the configuration finds %d, or finds some otherwise; set labels.replica_id of each, or a rule in relabel_configs", targets)
	}
	group.Labels = group.Labels.Merge(model.LabelSet{relabel.LabelReplicaID: model.LabelValue(n.replicaID)})
	return n.validate(f)
}

// validate refuses names that no label may hold.
func (n naming) validate(f *config.File) error {
	if n == (naming{}) {
		return nil
	}
	if err := f.Validate(); err != nil {
		return fmt.Errorf("--pool-id or --replica-id: %w", err)
	}
	return nil
}
