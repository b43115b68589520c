package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// begins and ends are around what is written into a document.
const begins, ends = "<!-- results of make bench-peers -->\n", "<!-- end of results -->\n"

const mega = 1e6

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

// line is a result for who waits for it.
func (r *result) line() string {
	if r.Failed != "" {
		return fmt.Sprintf("%s, %d targets: %s", r.Peer, r.Targets, r.Failed)
	}
	return fmt.Sprintf("%s, %d targets: scrape %.2f, plain read %.2f, gzip read %.2f µs a sample; %.0f MB; whole after %.1f s",
		r.Peer, r.Targets, r.Scrape, r.Plain.Cost, r.Gzip.Cost, float64(r.memory())/mega, r.Start.Seconds())
}

// table is one of the tables of a document: a row for each result that has one.
type table struct {
	before  string
	columns []string
	row     func(r *result) []string
}

// tables are those of a document.
func tables() []table {
	return []table{
		{"", []string{
			"way", "targets", "interval, s", "scrape", "plain read", "gzip read", "scrape and gzip read", "plain p50 / p99, ms", "gzip p50 / p99, ms",
			"MB plain / gzip", "most memory, MB", "first whole page, s",
		}, (*result).page},
		{"Reads with gzip by 1, 4 and 40 readers:\n\n", []string{
			"way", "targets", "read, by 1", "by 4", "by 40", "p50 / p99, ms, by 1", "by 4", "by 40", "most memory, MB, by 1", "by 4", "by 40",
		}, (*result).readers},
		{"Sixty reads of five families, one each 50 ms:\n\n", []string{"way", "targets", "µs a read", "p50 / p99, ms"}, (*result).picks},
	}
}

func (r *result) page() []string {
	return append(r.head(), number(r.Scrape), number(r.Plain.Cost), number(r.Gzip.Cost), number(r.cost()),
		times(r.Plain.P50, r.Plain.P99), times(r.Gzip.P50, r.Gzip.P99), fmt.Sprintf("%.1f / %.2f", float64(r.Plain.Bytes)/mega, float64(r.Gzip.Bytes)/mega),
		megabytes(r.memory()), fmt.Sprintf("%.1f", r.Start.Seconds()))
}

func (r *result) readers() []string {
	if r.Targets < fewestRead {
		return nil
	}
	row := []string{r.Peer, strconv.Itoa(r.Targets), "", "", "", "", "", "", "", "", ""}
	for i, readers := range []int{1, 4, 40} {
		cost, took, memory := "–", "–", "–"
		for _, m := range append([]reads{r.Gzip}, r.Many...) {
			if m.Readers == readers && m.Failed == "" {
				cost, took, memory = number(m.Cost), times(m.P50, m.P99), megabytes(m.Peak)
			}
		}
		row[2+i], row[5+i], row[8+i] = cost, took, memory
	}
	return row
}

func (r *result) picks() []string {
	if r.Pick == 0 {
		return nil
	}
	return []string{r.Peer, strconv.Itoa(r.Targets), fmt.Sprintf("%.0f", r.Pick), fmt.Sprintf("%.1f / %.1f", r.PickP50.Seconds()*1e3, r.PickP99.Seconds()*1e3)}
}

func (r *result) head() []string {
	return []string{r.Peer, strconv.Itoa(r.Targets), fmt.Sprintf("%g", r.Interval.Seconds())}
}

func number(v float64) string { return fmt.Sprintf("%.2f", v) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/mega) }

func times(p50, p99 time.Duration) string {
	return fmt.Sprintf("%.0f / %.0f", p50.Seconds()*1e3, p99.Seconds()*1e3)
}

// of gives the table of results, empty without rows.
func (t *table) of(all []result) string {
	var rows strings.Builder
	for i := range all {
		if all[i].Failed != "" {
			continue
		}
		if row := t.row(&all[i]); row != nil {
			rows.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	return t.before + "| " + strings.Join(t.columns, " | ") + " |\n" + strings.Repeat("|---", len(t.columns)) + "|\n" + rows.String() + "\n"
}

// report writes the tables of all results, how many times less the first way took
// than each other, what could not be measured, and the versions, into a document,
// between its marks.
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
	b.WriteString(before + begins + "\n")
	for _, t := range tables() {
		b.WriteString(t.of(all))
	}
	b.WriteString("A scrape and a read with gzip is what one Prometheus costs:\n\n" + ratios(all) + "\n")
	b.WriteString(failed(all) + versions(all) + "\n" + ends + after)
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
			if other := &all[j]; other.Targets == one.Targets && other.Peer != one.Peer && other.Failed == "" {
				parts = append(parts, ratio(one, other))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(&b, "- %s each %g s: the %s took %s.\n", counted(one.Targets), one.Interval.Seconds(), one.Peer, strings.Join(parts, "; "))
		}
	}
	return b.String()
}

// ratio says by how much one is cheaper than another.
func ratio(one, other *result) string {
	switch by := fmt.Sprintf("%.1f", other.cost()/one.cost()); {
	case by == "1.0":
		return "as much as " + other.Peer
	case one.cost() > other.cost():
		return fmt.Sprintf("%.1f times as much as %s", one.cost()/other.cost(), other.Peer)
	default:
		return by + " times less than " + other.Peer
	}
}

// counted is a number of targets in words.
func counted(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprint(n, " targets")
}

// failed says what was left out, and why.
func failed(all []result) string {
	var b strings.Builder
	for i := range all {
		r := &all[i]
		if r.Failed != "" {
			fmt.Fprintf(&b, "- Left out: %s with %d targets: %s.\n", r.Peer, r.Targets, strings.ReplaceAll(r.Failed, "\n", ", "))
		}
		for _, m := range r.Many {
			if m.Failed != "" {
				fmt.Fprintf(&b, "- Left out: %d readers of %s with %d targets: %s.\n", m.Readers, r.Peer, r.Targets, m.Failed)
			}
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// versions names what was measured.
func versions(all []result) string {
	var names []string
	for i := range all {
		if name := all[i].Peer + " (" + all[i].Version + ")"; all[i].Failed == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "Measured: " + strings.Join(names, "; ") + ".\n"
}
