// Command mutants tells which conditions of a package no test misses. It compiles the tests once, with a switch in
// each condition, then runs them with one condition changed at a time: a test must fail.
//
//	mutants [-for 20m] [-min 90] PACKAGE [PACKAGE_THAT_TESTS_IT...]
//
// A mutant that survives the tests of its own package meets those of the others, in turn. It fails if they miss fewer
// than so many per cent of those for which there was time. Their order is random, and the same each time.
package main

import (
	"context"
	"errors"
	"flag" //nolint:depguard // This is a main of its own.
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

func main() {
	limit := flag.Duration("for", 20*time.Minute, "stop after this time")
	least := flag.Int("min", 0, "how many per cent of the mutants tests must catch")
	flag.Parse()
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if err := run(say, *limit, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

// run changes conditions of the first package until the time is over, and says which no test misses.
func run(say func(format string, args ...any), limit time.Duration, least int, packages []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if len(packages) == 0 {
		return errors.New("name a package, such as collector/derive, and others that test it")
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all, err := overlay(dir, packages[0])
	if err != nil {
		return err
	}
	suites, err := compile(ctx, dir, packages)
	if err != nil {
		return err
	}
	reached := suites.reached(all)
	say("%s: tests reach %d of %d mutants", packages[0], len(reached), len(all))
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(reached), func(i, j int) {
		reached[i], reached[j] = reached[j], reached[i]
	})
	tried, survived := try(ctx, say, suites, reached)
	say("%d of %d mutants tried, %d survived", tried, len(reached), survived)
	if caught := tried - survived; tried == 0 || 100*caught < least*tried {
		return fmt.Errorf("tests of %s caught %d of %d mutants, and %d%% are wanted", packages[0], caught, tried, least)
	}
	return nil
}

// try tries mutants in turn until the time is over, and says which survive.
func try(
	ctx context.Context, say func(format string, args ...any), suites suites, mutants []mutant,
) (tried, survived int) {
	const atOnce = 2
	next := make(chan mutant)
	var lock sync.Mutex
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for m := range next {
				survives := suites.pass(ctx, m)
				if ctx.Err() != nil {
					continue
				}
				lock.Lock()
				tried++
				if survives {
					survived++
					say("%s", m)
				}
				lock.Unlock()
			}
		})
	}
	for _, m := range mutants {
		select {
		case next <- m:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return tried, survived
}
