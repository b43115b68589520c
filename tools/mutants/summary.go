package main

import (
	"fmt"
	"strings"
)

// What may become of a mutant.
const (
	killed     = "killed"
	timedOut   = "timed out"
	lived      = "lived"
	notCovered = "not covered"
)

// summary is what became of the mutants of a room.
type summary struct {
	mutants  []mutant
	outcomes []string
}

func (s *summary) count(outcome string) (n int) {
	for _, o := range s.outcomes {
		if o == outcome {
			n++
		}
	}
	return n
}

// share is how many per cent were killed. A mutant whose tests never end is
// one of them, for a test run fails of that too.
func (s *summary) share() float64 {
	return 100 * float64(s.count(killed)+s.count(timedOut)) / float64(max(1, len(s.mutants)))
}

// String counts the outcomes and shows every mutant that no test refused.
func (s *summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutants", len(s.mutants))
	for _, o := range []string{killed, timedOut, lived, notCovered} {
		fmt.Fprintf(&b, ", %d %s", s.count(o), o)
	}
	fmt.Fprintf(&b, ": %.0f %%", s.share())
	for i, m := range s.mutants {
		if s.outcomes[i] != killed {
			fmt.Fprintf(&b, "\n  %s: %s", s.outcomes[i], m)
		}
	}
	return b.String()
}
