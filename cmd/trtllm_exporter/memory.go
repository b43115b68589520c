package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// cgroupLimit is where a container finds its memory limit.
const cgroupLimit = "/sys/fs/cgroup/memory.max"

// tightHeap is how much the heap may grow, in per cent of what is in use,
// before garbage is collected. Go's default of 100 would double the memory of
// an exporter whose steady state makes next to no garbage.
const tightHeap = 40

// tightenHeap keeps the heap small unless GOGC says otherwise.
func tightenHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(tightHeap)
	}
}

// limitMemory makes the garbage collector work harder when the process comes
// near the limit of its container, rather than be killed for it. GOMEMLIMIT
// wins. It returns the limit set, 0 for none.
func limitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	text, err := os.ReadFile(cgroupLimit)
	if err != nil {
		return 0
	}
	limit := memoryLimit(string(text))
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// memoryLimit leaves a tenth of a container's memory to what the Go runtime
// does not count; 0 when the text names no limit.
func memoryLimit(text string) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || bytes <= 0 {
		return 0
	}
	return bytes / 10 * 9
}
