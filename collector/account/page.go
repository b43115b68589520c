package account

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Page is one scrape of a replica.
type Page struct {
	// At is when it was requested.
	At time.Time
	Replica

	// Address is where the page is.
	Address string
	// Failed is why there is no page, empty if there is one.
	Failed string
	// Suspected is true if the replica seems to hang.
	Suspected bool
	// Processes is how many are behind the address, 0 for one. Restarts counts those so far.
	Processes, Restarts int
	// CountersAppear is true if a counter that is not on a page is 0.
	CountersAppear bool
	// Capabilities tell why something is not on the page.
	Capabilities []target.Check
	// Derived has the series of the page; nil if there is none.
	Derived *exposition.Block
}

// pageOf returns the page of the last scrape of a replica.
func pageOf(t *target.Target, s *snapshot.Snapshot) Page {
	status := &s.Status
	p := Page{
		At:      status.LastScrape,
		Address: t.MetricsURL,
		Replica: Replica{
			PoolID: t.PoolID, ReplicaID: t.ReplicaID,
			Engine: status.DetectedEngine, Version: status.EngineVersion,
			State: status.State, Reason: status.StateReason,
		},
		Suspected:      status.Suspected,
		Processes:      int(first(s.About, derive.Prefix+"processes")),
		Restarts:       int(first(s.Health, assess.MetricTargetRestarts.Name)),
		CountersAppear: status.CountersAppear,
		Capabilities:   target.FindChecks(status.Checks, assess.Capabilities),
		Derived:        s.Derived,
	}
	switch {
	case status.Health != target.HealthUp:
		p.Failed = status.LastError
	case s.Derived == nil:
		p.Failed = "nothing is derived from its page: " + status.StateReason
	}
	return p
}

// first returns the first value of a family, 0 if there is none.
func first(b *exposition.Block, family string) float64 {
	if b == nil {
		return 0
	}
	for _, f := range b.Shape().Families() {
		if f.Name != family {
			continue
		}
		line, end := f.Lines()
		if line < end {
			v, _ := b.Value(line)
			return v
		}
	}
	return 0
}
