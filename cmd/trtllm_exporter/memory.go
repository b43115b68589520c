package main

import (
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// procCgroup lists the control groups of the process, whose files are below cgroupRoot.
	procCgroup, cgroupRoot = "/proc/self/cgroup", "/sys/fs/cgroup"
	// memoryMargin is kept free in containers of less than half a gibibyte, but at most a quarter
	// of the limit: with all faults at once, the process used 30 MB more than its limit.
	memoryMargin = 48 << 20
	// unlimited is more than any machine has. cgroup v1 reports such a limit if none is set.
	unlimited = 1 << 60
)

// limitMemory sets the memory limit to less than the control group's, so that the process collects
// garbage before it is OOM-killed. The environment variable GOMEMLIMIT takes precedence. It returns
// the limit that it set, 0 if none.
func limitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := cgroupMemory(func(name string) string {
		text, _ := os.ReadFile(name) // It is empty if it cannot be read.
		return string(text)
	})
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// cgroupMemory returns the smallest memory limit of the process's control group and its
// ancestors, minus the margin; 0 if there is none. The function read returns the content of a
// file. A container sees its own group as the root group.
func cgroupMemory(read func(name string) string) (smallest int64) {
	root, file, group := cgroupRoot, "memory.max", "/"
	for line := range strings.Lines(read(procCgroup)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[1] == "" && group == "/":
			group = fields[2]
		case fields[1] == "memory":
			root, file, group = cgroupRoot+"/memory", "memory.limit_in_bytes", fields[2]
		}
	}
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		if limit := memoryLimit(read(path.Join(root, dir, file))); limit > 0 && (smallest == 0 || limit < smallest) {
			smallest = limit
		}
		if dir == "/" {
			return smallest
		}
	}
}

// memoryLimit parses the limit of a control group and subtracts a margin for memory that the Go
// runtime does not count, such as the kernel's memory for connections, and for what it uses above
// its limit before garbage is collected. It returns 0 if the text has no limit.
func memoryLimit(text string) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || bytes <= 0 || bytes >= unlimited {
		return 0
	}
	return bytes - max(bytes/10, min(bytes/4, memoryMargin))
}
