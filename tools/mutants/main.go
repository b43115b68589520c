// Command mutants changes a room's code in one small place at a time and runs
// the room's own tests: a change that no test notices is a behaviour that
// nobody tests. A seed draws the sample, so that a run can be repeated; the
// checkout is never written, for the go command overlays the changed file.
package main

import (
	"context"
	"errors"
	"flag" //nolint:depguard // This is a main of its own.
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "draws the sample")
	sample := flags.Int("sample", 30, "mutants to try in each room")
	least := flags.Float64("min", 90, "per cent of them that the room's tests have to kill")
	file := flags.String("equivalent", "", "file of mutants that no test can kill, with the reasons")
	if err := flags.Parse(args); err != nil {
		return err
	}
	equivalent, err := readEquivalent(*file)
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range flags.Args() {
		start := time.Now()
		s, err := try(ctx, strings.TrimPrefix(dir, "./"), equivalent, *seed, *sample)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		_, _ = fmt.Fprintf(w, "%s, seed %d, %s: %s\n", dir, *seed, time.Since(start).Round(time.Second), s)
		if s.share() < *least {
			errs = append(errs, fmt.Errorf("%s: %.0f %% killed, at least %v %% is asked for", dir, s.share(), *least))
		}
	}
	return errors.Join(errs...)
}

// try runs the tests of a room with a sample of its mutants.
func try(ctx context.Context, dir string, equivalent map[string]bool, seed uint64, n int) (*summary, error) {
	r, err := load(ctx, dir)
	if err != nil {
		return nil, err
	}
	// Shuffled before, so that the sample stays when the list grows.
	all, err := without(r.shuffle(r.mutants(), seed), dir, equivalent)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	b, err := newRunner(ctx, r, tmp)
	if err != nil {
		return nil, err
	}
	return b.tryAll(ctx, r.pick(all, n))
}
