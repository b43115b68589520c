package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drawn is the chart of results, which is held to be XML without what is no number.
func drawn(t *testing.T, all []result) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "chart.svg")
	if err := draw(to, all); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
		t.Error(string(svg))
	}
	return string(svg)
}

func TestChartHasAllWaysInTheirPanels(t *testing.T) {
	t.Parallel()
	svg := drawn(t, measured())
	for part, times := range map[string]int{
		">a</text>": 1, ">b</text>": 1, ">c</text>": 1, ">d</text>": 0,
		">targets</text>": 2, ">readers</text>": 2, "A gzip read of 100 targets": 1,
		// Two panels over targets with a point for each of 10 and 100, two over readers with one for each of 1 and 4.
		`<circle class="dot p0"`: 2*2 + 2*2,
		`<circle class="dot p1"`: 2,
		// A point each for processor time and memory, and the lines of these and of the names.
		`<circle class="dot p2 ships"`: 2, `class="line p2 ships"`: 3,
	} {
		if got := strings.Count(svg, part); got != times {
			t.Errorf("%s is there %d times, not %d", part, got, times)
		}
	}
}

func TestChartWithoutReadersHasTwoPanels(t *testing.T) {
	t.Parallel()
	svg := drawn(t, []result{{Peer: "a", Targets: 1, Scrape: 1, Gzip: reads{Peak: 10e6}}})
	if strings.Count(svg, ">targets</text>") != 2 || strings.Contains(svg, ">readers</text>") {
		t.Error(svg)
	}
}
