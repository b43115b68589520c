package collector

import (
	"cmp"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// candidate is a target before it is known whether another one has its page, too.
type candidate struct {
	*target.Target

	// source, address and standing are of what discovery said, before relabeling. Its labels are not kept: a group may
	// have a megabyte of them, and thousands of targets.
	source, address string
	standing        standing
}

// onePerPage returns the targets in their order, each page of a pool once: what two targets read
// from one page would count twice. It records the others as dropped. A pod that is being deleted may
// have the address of its successor, and registries list a server that was renamed under both names.
func onePerPage(all []candidate, s *target.PoolDiscovery) (kept []*target.Target) {
	pages, chosen := make([]string, len(all)), make(map[string]*candidate, len(all))
	for i := range all {
		c := &all[i]
		pages[i] = c.page()
		if other := chosen[pages[i]]; other == nil || c.precedes(other) {
			chosen[pages[i]] = c
		}
	}
	for i := range all {
		c := &all[i]
		if one := chosen[pages[i]]; one != c {
			s.Drop(c.source, c.address, fmt.Sprintf("%s has the same page as %s", c.ReplicaID, one.ReplicaID))
			continue
		}
		kept = append(kept, c.Target)
	}
	return kept
}

// page returns what no other target may have. A silent rank has no page, so it has its name besides.
func (c *candidate) page() string {
	if c.Silent {
		return c.Key() + " " + c.MetricsURL
	}
	return c.PoolID + " " + c.MetricsURL
}

// precedes reports whether a target has a page rather than another one: the pod that is ready, or
// else the first by name.
func (c *candidate) precedes(other *candidate) bool {
	better := cmp.Compare(other.standing, c.standing)
	return cmp.Or(better, cmp.Compare(c.ReplicaID, other.ReplicaID)) < 0
}

// standing says how likely it is that a page at the address of a pod is the pod's own.
type standing int

const (
	// isNotRunning is that of a pod whose containers have not started yet, or whose node is lost.
	isNotRunning standing = iota
	// isEnding is that of an endpoint whose pod is being deleted.
	isEnding
	// isUnready is that of a pod that is not ready, as pods are soon after their deletion.
	isUnready
	// isUnknown is that of what is no pod, or of which Kubernetes has not said anything yet.
	isUnknown
	isReady
)

// standingOf returns the standing by the labels of Kubernetes discovery. Each may be missing.
func standingOf(lset labels.Labels) standing {
	const slice, conditions = "__meta_kubernetes_endpointslice_", "endpoint_conditions_"
	if phase := lset.Get(podPhaseLabel); phase != "" && phase != "Running" {
		return isNotRunning
	}
	if lset.Get(slice+conditions+"terminating") == "true" {
		return isEnding
	}
	said := isUnknown
	for _, name := range [...]string{
		podReadyLabel,
		"__meta_kubernetes_endpoint_ready",
		slice + conditions + "ready",
	} {
		switch lset.Get(name) {
		case "":
		case "true":
			said = isReady
		default:
			return isUnready
		}
	}
	return said
}

// podReadyLabel is the label in which Kubernetes discovery stores whether the pod is ready.
const podReadyLabel = "__meta_kubernetes_pod_ready"
