package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured are results of each kind: with a page and one that is read by many, one
// that could not be measured.
func measured() []result {
	many := []reads{{Readers: 4, Reads: 8, Cost: 0.25, P50: 3 * time.Millisecond, P99: 4 * time.Millisecond, Peak: 60e6}, {Readers: 40, Failed: "timeout"}}
	return []result{
		{Peer: "a", Targets: 10, Interval: 1e9, Scrape: 0.5, Gzip: reads{Cost: 0.5, Peak: 50e6}, Version: "1", Start: 1500 * time.Millisecond},
		{Peer: "b", Targets: 10, Interval: 1e9, Scrape: 4, Gzip: reads{Cost: 1, Peak: 40e6}, Version: "2", pickResult: pickResult{Pick: 12, PickP50: 1e6, PickP99: 2e6}},
		{Peer: "a", Targets: 100, Interval: 1e9, Scrape: 1, Gzip: reads{Readers: 1, Cost: 1, P50: 1e6, P99: 2e6, Peak: 55e6}, Many: many, Version: "1"},
		{Peer: "c", Targets: 100, Interval: 1e9, Scrape: 6, Version: "3", Start: 6 * time.Second},
		{Peer: "d", Targets: 100, Interval: 1e9, Failed: "it had more than 8 GB\nresident"},
	}
}

func TestReportHasWhatWasMeasured(t *testing.T) {
	t.Parallel()
	text := report(measured())
	for what, part := range map[string]string{
		"a way with a page":         "| a | 10 | 1 | 0.50 | 0.00 | 0.50 | 1.00 | 0 / 0 | 0 / 0 | 0.0 / 0.00 | 50 | 1.5 |\n",
		"many readers, as measured": "| a | 100 | 1.00 | 0.25 | – | 1 / 2 | 3 / 4 | – | 55 | 60 | – |\n",
		"a picker":                  "| b | 10 | 12 | 1.0 / 2.0 |\n",
		"a ratio":                   "- 10 targets every 1 s: the a took 5.0 times less than b.\n",
		"one that was omitted":      "- Omitted: d with 100 targets: it had more than 8 GB, resident.\n",
		"readers that failed":       "- Omitted: 40 readers of a with 100 targets: timeout.\n",
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

func TestEachRowHasAsManyCellsAsItsTableHasColumns(t *testing.T) {
	t.Parallel()
	for _, table := range tables() {
		rows := 0
		for _, r := range measured() {
			row := table.row(&r)
			if row != nil {
				rows++
			}
			if row != nil && len(row) != len(table.columns) {
				t.Errorf("%d of %v for %v", len(row), table.columns, row)
			}
		}
		if rows == 0 {
			t.Errorf("no row of %v", table.columns)
		}
	}
}

func TestResultsOfAllFilesAreInTheOrderOfTheNumberOfTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var names []string
	for name, rows := range map[string]string{
		"x": `{"Peer":"a","Targets":1000}` + "\n" + `{"Peer":"b","Targets":1000}`, "y": `{"Peer":"a","Targets":1}`,
	} {
		names = append(names, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := load(names)
	if err != nil || len(all) != 3 || all[0].Targets != 1 || all[1].Peer != "a" || all[2].Peer != "b" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestARatioReadsAsASentence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other float64
		says       string
	}{
		{1, 5, "5.0 times less than b"},
		{1, 1.04, "as much as b"},
		{1, 0.96, "as much as b"},
		{3, 2, "1.5 times as much as b"},
	} {
		if says := ratio(&result{Scrape: c.one}, &result{Peer: "b", Scrape: c.other}); says != c.says {
			t.Errorf("%g and %g: %q, not %q", c.one, c.other, says, c.says)
		}
	}
}
