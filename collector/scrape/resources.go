package scrape

// Resources are what the clients of all pools share: memory for large bodies and pages,
// and connections. Safe for concurrent use.
type Resources struct {
	large, huge *budget
	// pages is the memory for what is retained of large pages, nil without a limit.
	pages       *budget
	connections *connections
	// maxBody is the largest size of one body, 0 for any size.
	maxBody int64
}

// NewResources derives the resources from the limits of the process.
func NewResources() *Resources {
	r := newResources(bodyMemory(), memoryBeyondBase(singleShare), maxConnections(openFiles()))
	if limit := memoryBeyondBase(pageShare); limit > 0 {
		r.pages = newBudget(limit, nil, nil)
	}
	return r
}

func newResources(memory, maxBody int64, connections int) *Resources {
	return &Resources{large: newBodyBudget(memory), huge: newBodyBudget(memory), connections: newConnections(connections), maxBody: maxBody}
}

// Usage is how much of a resource is in use.
type Usage struct {
	// Used and Limit are in bytes of memory, or connections.
	Used, Limit int64
	// Waits counts the requests that had to wait or were refused, Reclaimed those that
	// ended because others waited.
	Waits, Reclaimed uint64
}

// Memory returns what bodies over 256 KiB use.
func (r *Resources) Memory() Usage {
	large, huge := r.large.usage(), r.huge.usage()
	return Usage{large.Used + huge.Used, large.Limit + huge.Limit, large.Waits + huge.Waits, large.Reclaimed + huge.Reclaimed}
}

// Connections returns the connections to targets, idle ones included.
func (r *Resources) Connections() Usage { return r.connections.usage() }
