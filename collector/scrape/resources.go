package scrape

import "sync"

// Resources are what the clients of all pools share: memory for large bodies,
// and connections. Safe for concurrent use.
type Resources struct {
	memory  *memory
	parsing *memory
	files   *files
	// alone is the most that one body may have, 0 for any size.
	alone func() int64
}

// NewResources returns what this process has by its limits: a fifth of its
// memory limit, and of its open files those that nothing else needs.
func NewResources() *Resources {
	return &Resources{memory: newMemory(), parsing: newParsing(), files: newFiles(filesBound(openFiles())), alone: sync.OnceValue(aloneBound)}
}

// Usage is what is in use of one resource.
type Usage struct {
	// Used and Limit are in bytes of memory, or connections.
	Used, Limit int64
	// Waits is how often somebody had to wait, or was refused.
	Waits uint64
}

// Memory is what large bodies have at the moment.
func (r *Resources) Memory() Usage { return r.memory.usage() }

// Parsing is what of the large bodies is parsed at the moment, or may be.
func (r *Resources) Parsing() Usage { return r.parsing.usage() }

func (m *memory) usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Usage{Used: m.used, Limit: m.bound(), Waits: m.waits}
}

// Connections is what is in use of them, idle ones too.
type Connections struct {
	Usage

	// Slow are those of requests to hosts that took long, or did not answer, the
	// time before.
	Slow int64
	// Cuts is how often one was taken back because others waited.
	Cuts uint64
}

// Connections are those to targets at the moment.
func (r *Resources) Connections() Connections {
	f := r.files
	f.mu.Lock()
	defer f.mu.Unlock()
	return Connections{Usage: Usage{Used: int64(f.open), Limit: int64(f.bound), Waits: f.waits}, Slow: int64(f.slow), Cuts: f.cuts}
}
