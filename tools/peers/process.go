package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxMemory is the resident memory in bytes above which a peer is stopped, to protect the
// machine.
const maxMemory = 8e9

// process is the process of a peer.
type process struct {
	cmd   *exec.Cmd
	pid   int
	ended chan struct{}
}

// start starts a peer. The returned context ends with the peer, or when it exceeds maxMemory;
// its cause tells which.
func start(ctx context.Context, cmd *exec.Cmd) (context.Context, *process, error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid, ended: make(chan struct{})}
	running, cancel := context.WithCancelCause(ctx)
	go func() {
		_ = cmd.Wait()
		cancel(fmt.Errorf("it exited: %s", cmd.ProcessState))
		close(p.ended)
	}()
	go func() {
		const pollInterval = 500 * time.Millisecond
		for pause(running, pollInterval) == nil {
			if resident, err := memory(p.pid, "VmRSS:"); err == nil && resident > maxMemory {
				cancel(fmt.Errorf("it had more than %.0f GB resident", maxMemory/1e9))
				_ = cmd.Process.Kill()
			}
		}
	}()
	return running, p, nil
}

// stop stops the peer.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// processorTime returns the CPU time of the peer.
func (p *process) processorTime() (time.Duration, error) {
	const process = 2 // CPUCLOCK_SCHED, the clock of a process.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid<<3|process), &t); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", p.pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// peak returns the peak resident memory in bytes.
func (p *process) peak() (int64, error) { return memory(p.pid, "VmHWM:") }

// memory returns a value of /proc/PID/status in bytes.
func memory(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(name))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.SplitN(rest, []byte(" kB"), 2)[0])), 10, 64)
	return kilobytes << 10, err
}
