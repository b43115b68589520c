package main

import (
	"testing"
)

func TestWaysAreChosenByPartsOfTheirNamesOrByTheNumberOfTargets(t *testing.T) {
	t.Parallel()
	p := peer{name: "exporter", minTargets: 100, maxTargets: 1000}
	for _, c := range []struct {
		only    string
		targets int
		want    bool
	}{
		{"", 100, true},
		{"", 1000, true},
		{"", 10, false},
		{"", 5000, false},
		{"exp", 10, true},
		{"go,exp", 5000, true},
		{"go,fed", 100, false},
	} {
		if p.chosen(c.only, c.targets) != c.want {
			t.Errorf("%q with %d targets: %t", c.only, c.targets, !c.want)
		}
	}
}
