package main

import (
	"sync/atomic"
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

func TestTheExporterIsFirstAndEachWayHasAPage(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for i, p := range peers(programs{}) {
		if (i == 0) != (p.name == "exporter") || seen[p.name] {
			t.Errorf("%s is the %d.", p.name, i)
		}
		if seen[p.name] = true; p.path == "" {
			t.Errorf("%s has no page", p.name)
		}
	}
}

func TestScrapesAreCountedForEachTarget(t *testing.T) {
	t.Parallel()
	f := &fleet{scrapes: make([]atomic.Int64, 3)}
	f.scrapes[0].Add(7)
	before := f.scrapeCounts()
	for i, n := range []int64{5, 2, 9} {
		f.scrapes[i].Add(n)
	}
	if all, fewest := f.scrapesSince(before); all != 16 || fewest != 2 {
		t.Errorf("%d, the fewest %d", all, fewest)
	}
}
