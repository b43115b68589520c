package main

import (
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// procCgroup says which control group the process is in, cgroupRoot is where
	// the groups are.
	procCgroup, cgroupRoot = "/proc/self/cgroup", "/sys/fs/cgroup"
	// memoryFirst and memoryEach are what the exporter has at its peak with a reader
	// of gzip, without targets and for each of 226 samples, and a third more than was
	// measured: 78 MB at 100 of them, 243 MB at 1000.
	memoryFirst, memoryEach = 52 << 20, 256 << 10
	// memoryLeft is what containers of less than half a gibibyte leave, or a quarter: where
	// everything went wrong at the same time, 30 MB were in use above the limit.
	memoryLeft = 48 << 20
)

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
// near the limit of its control group, rather than be killed for it. GOMEMLIMIT
// wins. It returns the limit set, 0 for none.
func limitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := cgroupMemory(func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		return string(text)
	})
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// cgroupMemory is what the process may have by the tightest of its control group
// and those above it, given what reads a file, empty for one that is not there; 0
// without limit. In a container the group seen as the root is the container's.
func cgroupMemory(read func(name string) string) (least int64) {
	dir, file, group := cgroupRoot, "memory.max", "/"
	for line := range strings.Lines(read(procCgroup)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[1] == "" && group == "/":
			group = fields[2]
		case fields[1] == "memory":
			dir, file, group = cgroupRoot+"/memory", "memory.limit_in_bytes", fields[2]
		}
	}
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if limit := memoryLimit(read(path.Join(dir, at, file))); limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
		if at == "/" {
			return least
		}
	}
}

// unlimited is more than any machine has: what the first version of control
// groups says where there is no limit.
const unlimited = 1 << 60

// memoryLimit leaves a part of a container's memory to what the Go runtime does
// not count, such as what the kernel has of connections, and to what it takes
// above its limit before garbage is collected; 0 when the text names no limit.
func memoryLimit(text string) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || bytes <= 0 || bytes >= unlimited {
		return 0
	}
	return bytes - max(bytes/10, min(bytes/4, memoryLeft))
}

// roomFor is how many targets of an ordinary size have room in so many bytes.
func roomFor(bytes int64) int64 { return max(0, bytes-memoryFirst) / memoryEach }
