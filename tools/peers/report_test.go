package main

import (
	"strings"
	"testing"
	"time"
)

// measured are results of each kind: with a page and one that is read by many, one
// that could not be measured.
func measured() []result {
	many := []reads{
		{Readers: 4, Reads: 8, Cost: 0.25, P50: 3 * time.Millisecond, P99: 4 * time.Millisecond, Peak: 60e6},
		{Readers: 40, Failed: "timeout"},
	}
	return []result{
		{
			Peer:     "a",
			Targets:  10,
			Interval: 1e9,
			Scrape:   0.5,
			Gzip:     reads{Cost: 0.5, Peak: 50e6},
			Version:  "1",
			Start:    1500 * time.Millisecond,
		},
		{Peer: "b", Targets: 10, Interval: 1e9, Scrape: 4, Gzip: reads{Cost: 1, Peak: 40e6}, Version: "2"},
		{
			Peer:     "a",
			Targets:  100,
			Interval: 1e9,
			Scrape:   1,
			Gzip:     reads{Readers: 1, Cost: 1, P50: 1e6, P99: 2e6, Peak: 55e6},
			Many:     many,
			Version:  "1",
		},
		{Peer: "c", Targets: 100, Interval: 1e9, Scrape: 6, Version: "3", Start: 6 * time.Second},
		{Peer: "d", Targets: 100, Interval: 1e9, Failed: "it had more than 8 GB\nresident"},
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	text := report(measured())
	for what, part := range map[string]string{
		"a way with a page": "| a | 10 | 1 | 0.50 | 0.00 | 0.50 | 1.00 | 0 / 0 | 0 / 0 | 0.0 / 0.00 | " +
			"50 | 1.5 |\n",
		"many readers, as measured": "| a | 100 | 1.00 | 0.25 | – | 1 / 2 | 3 / 4 | – | 55 | 60 | – |\n",
		"a ratio":                   "- 10 targets every 1 s: the a took 5.0 times less than b.\n",
		"an omitted one":            "- Omitted: d with 100 targets: it had more than 8 GB, resident.\n",
		"failed readers":            "- Omitted: 40 readers of a with 100 targets: timeout.\n",
		"versions":                  "Measured: a (1); b (2); c (3).\n",
	} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%s is not there once, %q in %s", what, part, text)
		}
	}
	if strings.Contains(text, "| d |") {
		t.Error(text)
	}
}
