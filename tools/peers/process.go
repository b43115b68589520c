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

// mostMemory is what a peer may have resident, in bytes, before it is ended: others
// run on the machine too.
const mostMemory = 8e9

// process is a peer that runs.
type process struct {
	cmd   *exec.Cmd
	pid   int
	ended chan struct{}
}

// start runs a peer. The context that it gives ends with the peer, and when it has
// too much memory resident; its cause says which.
func start(ctx context.Context, cmd *exec.Cmd) (context.Context, *process, error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid, ended: make(chan struct{})}
	running, cancel := context.WithCancelCause(ctx)
	go func() {
		_ = cmd.Wait()
		cancel(fmt.Errorf("it ended by itself: %s", cmd.ProcessState))
		close(p.ended)
	}()
	go func() {
		const again = 500 * time.Millisecond
		for pause(running, again) == nil {
			if resident, err := memory(p.pid, "VmRSS:"); err == nil && resident > mostMemory {
				cancel(fmt.Errorf("it had more than %.0f GB resident", mostMemory/1e9))
				_ = cmd.Process.Kill()
			}
		}
	}()
	return running, p, nil
}

// stop ends the peer.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// processorTime is what the peer has had of the processors.
func (p *process) processorTime() (time.Duration, error) {
	const process = 2 // the kind of clock that counts a process's time, CPUCLOCK_SCHED.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid<<3|process), &t); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", p.pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// peak is the most memory that the peer had resident so far, in bytes.
func (p *process) peak() (int64, error) { return memory(p.pid, "VmHWM:") }

// memory is a quantity of a process's memory, in bytes.
func memory(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(name))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.SplitN(rest, []byte(" kB"), 2)[0])), 10, 64)
	return kilobytes << 10, err
}
