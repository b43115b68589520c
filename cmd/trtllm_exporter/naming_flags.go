package main

import (
	"fmt"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// namingFlags name pool and target of a sidecar: all pods of a Deployment may share a file.
type namingFlags struct{ poolID, replicaID string }

// apply names the only pool and the only target of a configuration.
func (n namingFlags) apply(f *config.File) error {
	if n == (namingFlags{}) {
		return nil
	}
	if n.poolID != "" {
		if len(f.Pools) != 1 {
			return fmt.Errorf("--pool-id: names one pool, and there are %d; set pool_id of each in the file", len(f.Pools))
		}
		f.Pools[0].PoolID = n.poolID
	}
	if n.replicaID != "" {
		group, err := onlyTarget(f)
		if err != nil {
			return err
		}
		group.Labels = group.Labels.Merge(model.LabelSet{relabel.LabelReplicaID: model.LabelValue(n.replicaID)})
	}
	if err := f.Validate(); err != nil {
		return fmt.Errorf("--pool-id or --replica-id: %w", err)
	}
	return nil
}

// onlyTarget returns the group of the only static target; other kinds of discovery are an error.
func onlyTarget(f *config.File) (only *targetgroup.Group, err error) {
	targets, sources := 0, 0
	for i := range f.Pools {
		sd := &f.Pools[i].Discovery
		for _, group := range sd.StaticConfigs {
			if targets += len(group.Targets); len(group.Targets) > 0 {
				only = group
			}
		}
		sources += sd.Sources()
	}
	if targets != 1 || sources != 1 {
		return nil, fmt.Errorf("--replica-id: names one static target, and the configuration has %d, or other kinds of discovery; set labels.replica_id of each, or a rule in relabel_configs", targets)
	}
	return only, nil
}
