package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// begins and ends are around what is written into a document.
const begins, ends = "<!-- results of make bench-peers -->\n", "<!-- end of results -->\n"

// head is the head of the table.
const head = `| way | targets | interval, s | scrape | plain read | gzip read | scrape and gzip read | plain p50 / p99, ms | gzip p50 / p99, ms | MB plain / gzip | most memory, MB | read of five families, µs | p50 / p99, ms |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// load reads files of results, one JSON object a line, in the order of the number of
// targets.
func load(from []string) (all []result, err error) {
	for _, name := range from {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(file); ; {
			var r result
			if err := d.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, r)
		}
		_ = file.Close()
	}
	slices.SortStableFunc(all, func(a, b result) int { return a.Targets - b.Targets })
	return all, nil
}

// row is a result as a row of the table.
func (r *result) row() string {
	const mega, milli = 1e6, 1e3
	picks := " – | – |"
	if r.Pick > 0 {
		picks = fmt.Sprintf(" %.0f | %.1f / %.1f |", r.Pick, micros(r.PickP50)/milli, micros(r.PickP99)/milli)
	}
	return fmt.Sprintf("| %s | %d | %g | %.2f | %.2f | %.2f | %.2f | %.0f / %.0f | %.0f / %.0f | %.1f / %.2f | %.0f |",
		r.Peer, r.Targets, r.Interval.Seconds(), r.Scrape, r.Plain, r.Gzip, r.Scrape+r.Gzip,
		micros(r.PlainP50)/milli, micros(r.PlainP99)/milli, micros(r.GzipP50)/milli, micros(r.GzipP99)/milli,
		float64(r.PlainBytes)/mega, float64(r.GzipBytes)/mega, float64(r.Peak)/mega) + picks
}

// report writes the table of all results, how many times less the first way took
// than each other, and the versions, into a document, between its marks.
func report(name string, all []result) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for results, between %s and %s", name, strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	var b strings.Builder
	b.WriteString(before + begins + "\n" + head)
	for i := range all {
		b.WriteString(all[i].row() + "\n")
	}
	b.WriteString("\nA scrape and a read with gzip is what one Prometheus costs:\n\n" + ratios(all) + "\n" + versions(all) + "\n" + ends + after)
	return os.WriteFile(name, []byte(b.String()), 0o600)
}

// ratios says by how much the first way is cheaper than the others.
func ratios(all []result) string {
	var b strings.Builder
	for i := range all {
		one := &all[i]
		if one.Peer != all[0].Peer {
			continue
		}
		var parts []string
		for j := range all {
			if other := &all[j]; other.Targets == one.Targets && other.Peer != one.Peer {
				parts = append(parts, fmt.Sprintf("%.1f times less than %s", (other.Scrape+other.Gzip)/(one.Scrape+one.Gzip), other.Peer))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(&b, "- %d targets each %g s: the %s took %s.\n", one.Targets, one.Interval.Seconds(), one.Peer, strings.Join(parts, ", "))
		}
	}
	return b.String()
}

// versions names what was measured.
func versions(all []result) string {
	var names []string
	for i := range all {
		if name := all[i].Peer + " (" + all[i].Version + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "Measured: " + strings.Join(names, "; ") + ".\n"
}
