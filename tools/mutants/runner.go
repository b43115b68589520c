package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// runner runs the tests of one room.
type runner struct {
	room *room
	tmp  string
	// What the tests of a mutant may take. The processor's time is what ends a
	// loop: on a busy machine the other says little.
	processor, wall time.Duration
	// blocks are the room's lines of a coverage profile, by file.
	blocks map[string][]block
}

// block is a stretch of code that runs as a whole.
type block struct {
	fromLine, fromColumn, toLine, toColumn, statements, count int
}

// newRunner runs the tests of the room as it is: they have to pass, and their
// time and coverage are what mutants are judged by.
func newRunner(ctx context.Context, r *room, tmp string) (*runner, error) {
	b := &runner{room: r, tmp: tmp, processor: time.Hour, blocks: map[string][]block{}}
	program, profile := filepath.Join(tmp, "unchanged"), filepath.Join(tmp, "cover.out")
	if _, err := goCommand(ctx, "test", "-c", "-cover", "-ldflags=-s -w", "-o", program, "./"+r.dir); err != nil {
		return nil, err
	}
	start := time.Now()
	unchanged := b.tests(ctx, program, "-test.coverprofile="+profile)
	if out, err := unchanged.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests fail without a mutant: %w\n%s", err, out)
	}
	took := unchanged.ProcessState.UserTime() + unchanged.ProcessState.SystemTime()
	b.processor, b.wall = 10*time.Second+5*took, time.Minute+20*time.Since(start)
	text, err := os.ReadFile(profile)
	for line := range strings.Lines(string(text)) {
		var c block
		place, rest, _ := strings.Cut(line, ".go:")
		if n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &c.fromLine, &c.fromColumn, &c.toLine, &c.toColumn, &c.statements, &c.count); n == 6 {
			file := filepath.Base(place) + ".go"
			b.blocks[file] = append(b.blocks[file], c)
		}
	}
	return b, err
}

// tests is a test program in the directory of its room. A mutant that allocates
// without end must not take the machine down.
func (b *runner) tests(ctx context.Context, program string, args ...string) *exec.Cmd {
	limited := fmt.Sprintf(`ulimit -t %.0f; ulimit -v 8388608 2>/dev/null; exec "$0" "$@"`, b.processor.Seconds())
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, program, "-test.failfast", "-test.timeout=0"}, args...)...)
	cmd.Dir, cmd.WaitDelay = b.room.abs, time.Second
	return cmd
}

// tryAll runs the tests with each mutant, on all cores.
func (b *runner) tryAll(ctx context.Context, all []mutant) (*summary, error) {
	outcomes, errs := make([]string, len(all)), make([]error, len(all))
	free := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, m := range all {
		free <- struct{}{}
		wg.Go(func() {
			outcomes[i], errs[i] = b.try(ctx, m)
			<-free
		})
	}
	wg.Wait()
	return &summary{all, outcomes}, errors.Join(errs...)
}

// try runs the tests with one mutant.
func (b *runner) try(ctx context.Context, m mutant) (outcome string, err error) {
	if !b.covers(m) {
		return notCovered, nil
	}
	tmp, err := os.MkdirTemp(b.tmp, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	changed, overlay, program := filepath.Join(tmp, m.file), filepath.Join(tmp, "overlay"), filepath.Join(tmp, "tests")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(b.room.abs, m.file): changed}})
	if err := errors.Join(err, os.WriteFile(changed, []byte(m.apply()), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	if _, err := goCommand(ctx, "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", program, "./"+b.room.dir); err != nil {
		return killed, ctx.Err() // The room compiles, so it is the tests that do not.
	}
	limited, cancel := context.WithTimeout(ctx, b.wall)
	defer cancel()
	tests := b.tests(limited, program)
	switch err := tests.Run(); {
	case err == nil:
		return lived, nil
	case tests.ProcessState.ExitCode() < 0: // A signal ended it.
		return timedOut, ctx.Err()
	default:
		return killed, nil
	}
}

// covers says whether any test runs the place of a mutant. What is in no block,
// such as a table, may be run.
func (b *runner) covers(m mutant) bool {
	line, column := m.line(), m.start-strings.LastIndexByte(m.room.sources[m.file][:m.start], '\n')
	unknown := true
	for _, c := range b.blocks[m.file] {
		if line < c.fromLine || line == c.fromLine && column < c.fromColumn || line > c.toLine || line == c.toLine && column >= c.toColumn {
			continue
		}
		if c.count > 0 {
			return true
		}
		unknown = false
	}
	return unknown
}
