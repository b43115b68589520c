package main

import (
	"cmp"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Bounds of the report about a whole file.
const (
	// maxDiagnosed is the number of failing targets whose ports are probed, one after the other.
	maxDiagnosed    = 10
	maxDropsPrinted = 5
)

// loadUnsharded reads a file with the targets of all shards, unless the file itself names one.
func loadUnsharded(name string) (*config.File, error) {
	file, err := config.Load(name)
	if err == nil && file.Sharding.Index == nil {
		file.Sharding = config.DefaultSharding
	}
	return file, err
}

func (r *report) addPools(pools []target.PoolDiscovery, warnings []string) {
	r.Pools, r.Warnings = pools, warnings
	for i := range r.Pools {
		if s := &r.Pools[i]; s.Problem() != "" || s.Waiting() != "" {
			r.empty++
		}
	}
}

func (r *report) printPools(p *textTable) {
	for _, w := range r.Warnings {
		p.line("warning: " + w)
	}
	for i := range r.Pools {
		if i > 0 || len(r.Warnings) > 0 {
			p.row()
		}
		pool := &r.Pools[i]
		p.line("pool " + pool.PoolID)
		for j := range pool.Sources {
			p.row("  "+pool.Sources[j].Key, sourceText(&pool.Sources[j]))
		}
		p.row("  relabeling", relabelText(pool))
		for _, d := range pool.Drops[:min(len(pool.Drops), maxDropsPrinted)] {
			p.row("  dropped", d.Address+": "+d.Rule)
		}
		if text := cmp.Or(pool.Waiting(), pool.Problem()); text != "" {
			p.row("  what", text)
			p.row("  what to do", advice(pool))
		}
		for j := range r.Servers {
			if s := &r.Servers[j]; s.Target.PoolID == pool.PoolID {
				p.row("  "+cmp.Or(s.Target.Severity, unknown), s.Target.ReplicaID+": "+s.summary())
			}
		}
		p.end()
	}
}

func (s *server) summary() string {
	if s.Problem != nil {
		return s.Problem.What + "; " + s.Problem.Do
	}
	return s.Target.State + ": " + s.Target.StateReason
}

func sourceText(s *target.Source) string {
	text := count(s.Targets, "target")
	switch {
	case s.LastSuccess.IsZero() && s.LastError == "":
		return "did not answer"
	case s.LastSuccess.IsZero():
		return "failed: " + s.LastError
	case s.Failing():
		return text + ", and an error: " + s.LastError
	}
	return text
}

func relabelText(s *target.PoolDiscovery) string {
	text := fmt.Sprintf("%d found, %d kept, %d dropped", s.Found, s.Targets, s.Dropped)
	if s.LeftOut > 0 {
		text += fmt.Sprintf(", %d cannot be used: %s", s.LeftOut, s.Error)
	}
	return text
}

// advice returns what to do about a pool without targets.
func advice(s *target.PoolDiscovery) string {
	switch {
	case s.Waiting() != "":
		return "check that the source can be reached from here, and its credentials"
	case s.Dropped > 0:
		return "change the rule, or the labels that the source gives"
	case s.LeftOut > 0:
		return "change relabel_configs so that each target has an address"
	}
	return "check that the source names the replicas, and that they run"
}
