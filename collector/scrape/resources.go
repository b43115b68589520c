package scrape

import "github.com/trtllm-exporter/trtllm_exporter/collector/secret"

// Resources are shared by the clients of all pools: memory for large bodies and pages, and
// connections. They are safe for concurrent use.
type Resources struct {
	large, huge *Budget
	// pages limits the memory that large pages retain; nil means no limit.
	pages       *Budget
	connections *Budget
	// Secrets knows the secrets of the clients, and of others that share it.
	Secrets *secret.Store
	// maxBody limits the size of one body; 0 means no limit.
	maxBody int64
}

// NewResources derives the resources from the limits of the process.
func NewResources() *Resources {
	r := newResources(bodyMemory(), memoryBeyondBase(singleShare), maxConnections(openFiles()))
	if limit := memoryBeyondBase(pageShare); limit > 0 {
		r.pages = newBudget(limit, nil)
	}
	return r
}

func newResources(memory, maxBody int64, connections int) *Resources {
	limit := int64(connections)
	slow := shortage("the response took long while others waited for one of the %d connections to targets", limit)
	slow.Class = ClassSlow
	return &Resources{
		Secrets:     new(secret.Store),
		large:       newBodyBudget(memory),
		huge:        newBodyBudget(memory),
		connections: newBudget(limit, slow),
		maxBody:     maxBody,
	}
}

// Usage describes how much of a resource is in use.
type Usage struct {
	// Used and Limit are in bytes of memory, or connections.
	Used, Limit int64
	// Waits counts requests that had to wait or were refused, Reclaimed requests that were
	// canceled because others waited.
	Waits, Reclaimed uint64
}

// Memory returns the memory that bodies over 256 KiB use.
func (r *Resources) Memory() Usage {
	large, huge := r.large.usage(), r.huge.usage()
	return Usage{
		large.Used + huge.Used, large.Limit + huge.Limit, large.Waits + huge.Waits, large.Reclaimed + huge.Reclaimed,
	}
}

// Connections returns the connections to targets, including idle ones.
func (r *Resources) Connections() Usage { return r.connections.usage() }
