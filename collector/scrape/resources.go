package scrape

import (
	"math"
	"runtime/debug"
)

// Resources are what the clients of all pools share: memory for large bodies,
// and connections. Safe for concurrent use.
type Resources struct {
	large, huge *budget
	// pages is the memory for what is kept of pages, nil without a limit.
	pages       *budget
	connections *connections
	// alone is the most that one body may have, 0 for any size.
	alone int64
}

// NewResources returns what this process has by its limits: a tenth of its memory
// limit, and of its open files those that nothing else needs.
func NewResources() *Resources {
	r := newResources(memoryBound(), aloneBound(), filesBound(openFiles()))
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		r.pages = newBudget(max((limit-anyway)/pagesShare, leastAlone))
	}
	return r
}

func newResources(memory, alone int64, connections int) *Resources {
	return &Resources{large: newBudget(memory), huge: newBudget(memory), connections: newConnections(connections), alone: alone}
}

// Usage is what is in use of one resource.
type Usage struct {
	// Used and Limit are in bytes of memory, or connections.
	Used, Limit int64
	// Waits counts how often somebody had to wait, or was refused.
	Waits uint64
}

// Memory returns what bodies over 256 KiB have at the moment.
func (r *Resources) Memory() Usage {
	return Usage{
		Used: r.large.used.Load() + r.huge.used.Load(), Limit: r.large.bound + r.huge.bound,
		Waits: r.large.waits.Load() + r.huge.waits.Load(),
	}
}

// Connections is what is in use of them, idle ones too.
type Connections struct {
	Usage

	// Taken counts those taken back because others waited.
	Taken uint64
}

// Connections returns those to targets at the moment.
func (r *Resources) Connections() Connections {
	c := r.connections
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return Connections{Usage{Used: c.used.Load(), Limit: c.bound, Waits: c.waits.Load()}, c.taken}
}
