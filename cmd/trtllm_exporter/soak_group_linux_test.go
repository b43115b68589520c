package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memoryGroup is a control group with a memory limit, of version 1 or 2.
type memoryGroup struct{ dir, limit, peak string }

// newMemoryGroup creates a control group below that of this process or the root, or returns nil if
// that is not possible.
func newMemoryGroup(t *testing.T, bytes int) *memoryGroup {
	t.Helper()
	current, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for _, kind := range []struct {
		line, root string
		memoryGroup
	}{
		{
			`(?m)^\d+:memory:(.*)$`, "/sys/fs/cgroup/memory",
			memoryGroup{limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes"},
		},
		{`(?m)^0::(.*)$`, "/sys/fs/cgroup", memoryGroup{limit: "memory.max", peak: "memory.peak"}},
	} {
		m := regexp.MustCompile(kind.line).FindSubmatch(current)
		if m == nil {
			continue
		}
		for _, parent := range []string{string(m[1]), "/"} {
			g := kind.memoryGroup
			g.dir = filepath.Join(kind.root, parent, fmt.Sprintf("trtllm-exporter-soak-%d", os.Getpid()))
			if os.Mkdir(g.dir, 0o755) != nil {
				continue
			}
			if os.WriteFile(filepath.Join(g.dir, g.limit), []byte(strconv.Itoa(bytes)), 0o600) == nil {
				t.Cleanup(func() { g.remove(t) })
				return &g
			}
			_ = os.Remove(g.dir)
		}
	}
	return nil
}

// remove waits until the processes of the group have ended.
func (g *memoryGroup) remove(t *testing.T) {
	t.Helper()
	var err error
	for range 100 {
		if err = os.Remove(g.dir); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the control group stays: %v", err)
}

// enter returns the shell command that joins the group.
func (g *memoryGroup) enter() string { return fmt.Sprintf("echo $$ > %s/cgroup.procs; ", g.dir) }

// most returns the peak memory of the group in bytes, including the kernel's.
func (g *memoryGroup) most(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, g.peak))
	if err != nil {
		return 0 // Kernels before 5.19 with version 2.
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return n
}

// killed returns how many processes of the group were OOM-killed.
func (g *memoryGroup) killed(t *testing.T) int {
	t.Helper()
	for _, name := range []string{"memory.oom_control", "memory.events"} {
		text, err := os.ReadFile(filepath.Join(g.dir, name))
		if err != nil {
			continue
		}
		if m := regexp.MustCompile(`(?m)^oom_kill (\d+)$`).FindSubmatch(text); m != nil {
			n, err := strconv.Atoi(string(m[1]))
			require.NoError(t, err)
			return n
		}
	}
	return 0
}
