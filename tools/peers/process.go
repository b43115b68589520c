package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what a process has had of the processors.
func processorTime(pid int) (time.Duration, error) {
	const process = 2 // the kind of clock that counts a process's time, CPUCLOCK_SCHED.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|process), &t); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// peakMemory is the most memory that a process had resident, in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.SplitN(rest, []byte(" kB"), 2)[0])), 10, 64)
	return kilobytes << 10, err
}
