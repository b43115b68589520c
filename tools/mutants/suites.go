package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the compiled tests of a package.
type suite struct {
	program, folder string
	// quick selects those that together take a tenth of the time. They run before the others.
	quick string
	// limit is how long they may run, reached the mutants that they reach.
	limit   time.Duration
	reached map[int]bool
}

// suites holds the tests of the changed package, followed by those of the others.
type suites []*suite

// compile compiles the tests of packages, and runs them without a change.
func compile(ctx context.Context, dir string, packages []string) (all suites, err error) {
	for i, pkg := range packages {
		s := &suite{program: filepath.Join(dir, strconv.Itoa(i)+".test"), folder: pkg, reached: make(map[int]bool)}
		cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-overlay", filepath.Join(dir, "overlay.json"),
			"-o", s.program, "./"+pkg)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("compile the tests of %s: %w", pkg, err)
		}
		if err := s.measure(ctx); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// measure finds out how long the tests take and which mutants they reach.
func (s *suite) measure(ctx context.Context) error {
	file := s.program + ".reached"
	start := time.Now()
	out, err := s.command(ctx, "MUTANT_REACHED="+file, "-test.v").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the tests of %s fail as they are: %w\n%s", s.folder, err, out)
	}
	s.quick = quick(string(out))
	const patience = 5 // Other work on the machine, and the loops that a change makes longer.
	s.limit = patience * time.Since(start)
	text, err := os.ReadFile(file)
	for n := range strings.FieldsSeq(string(text)) {
		number, _ := strconv.Atoi(n)
		s.reached[number] = true
	}
	return err
}

// quick returns a pattern of the tests that together take a tenth of the time, by what they printed.
func quick(out string) string {
	seconds := make(map[string]float64)
	whole := 0.0
	for _, m := range regexp.MustCompile(`(?m)^--- PASS: (\w+) \((.*)s\)$`).FindAllStringSubmatch(out, -1) {
		seconds[m[1]], _ = strconv.ParseFloat(m[2], 64)
		whole += seconds[m[1]]
	}
	names := slices.SortedFunc(maps.Keys(seconds), func(a, b string) int {
		return cmp.Or(cmp.Compare(seconds[a], seconds[b]), cmp.Compare(a, b))
	})
	n, sum := 0, 0.0
	for n < len(names) && sum+seconds[names[n]] <= whole/10 {
		sum += seconds[names[n]]
		n++
	}
	return "^(" + strings.Join(names[:n], "|") + ")$"
}

func (s *suite) command(ctx context.Context, setting string, flags ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, append(flags, "-test.failfast")...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), setting)
	return cmd
}

// reached returns the mutants that any tests reach.
func (all suites) reached(mutants []mutant) (reached []mutant) {
	for _, m := range mutants {
		if slices.ContainsFunc(all, func(s *suite) bool { return s.reached[m.number] }) {
			reached = append(reached, m)
		}
	}
	return reached
}

// pass reports whether no test fails. One that takes much longer than without a change has failed.
func (all suites) pass(ctx context.Context, m mutant) bool {
	for _, s := range all {
		if s.reached[m.number] && !s.passes(ctx, m) {
			return false
		}
	}
	return true
}

func (s *suite) passes(ctx context.Context, m mutant) bool {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	change := "MUTANT=" + strconv.Itoa(m.number)
	return s.command(ctx, change, "-test.run", s.quick).Run() == nil &&
		s.command(ctx, change, "-test.skip", s.quick).Run() == nil
}
