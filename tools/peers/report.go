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

const mega = 1e6

// load reads files with a JSON result per line and sorts them by the number of targets.
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

// line formats a result for the terminal.
func (r *result) line() string {
	if r.Failed != "" {
		return fmt.Sprintf("%s, %d targets: %s", r.Peer, r.Targets, r.Failed)
	}
	return fmt.Sprintf("%s, %d targets: scrape %.2f, plain read %.2f, gzip read %.2f µs a sample; %.0f MB; "+
		"complete after %.1f s",
		r.Peer, r.Targets, r.Scrape, r.Plain.Cost, r.Gzip.Cost, float64(r.memory())/mega, r.Start.Seconds())
}

// table is a table of the report; row returns nil for results without a row.
type table struct {
	heading string
	columns []string
	row     func(r *result) []string
}

// tables returns the tables of the report.
func tables() []table {
	return []table{
		{"", []string{
			"program",
			"targets",
			"interval, s",
			"scrape", "plain read", "gzip read", "scrape and gzip read", "plain p50 / p99, ms", "gzip p50 / p99, ms",
			"MB plain / gzip", "peak memory, MB", "complete after, s",
		}, (*result).page},
		{"Gzip reads by 1, 4 and 40 readers:\n\n", []string{
			"program",
			"targets",
			"read, by 1",
			"by 4", "by 40", "p50 / p99, ms, by 1", "by 4", "by 40", "peak memory, MB, by 1", "by 4", "by 40",
		}, (*result).readers},
	}
}

func (r *result) page() []string {
	return []string{
		r.Peer,
		strconv.Itoa(r.Targets),
		fmt.Sprintf("%g", r.Interval.Seconds()),
		number(r.Scrape), number(r.Plain.Cost), number(r.Gzip.Cost), number(r.cost()),
		times(r.Plain.P50, r.Plain.P99),
		times(r.Gzip.P50, r.Gzip.P99),
		fmt.Sprintf("%.1f / %.2f", float64(r.Plain.Bytes)/mega, float64(r.Gzip.Bytes)/mega),
		megabytes(r.memory()), fmt.Sprintf("%.1f", r.Start.Seconds()),
	}
}

func (r *result) readers() []string {
	if r.Targets < minManyTargets {
		return nil
	}
	row := []string{r.Peer, strconv.Itoa(r.Targets), "", "", "", "", "", "", "", "", ""}
	for i, readers := range []int{1, 4, 40} {
		cost, quantiles, memory := "–", "–", "–"
		for _, m := range append([]reads{r.Gzip}, r.Many...) {
			if m.Readers == readers && m.Failed == "" {
				cost, quantiles, memory = number(m.Cost), times(m.P50, m.P99), megabytes(m.Peak)
			}
		}
		row[2+i], row[5+i], row[8+i] = cost, quantiles, memory
	}
	return row
}

func number(v float64) string { return fmt.Sprintf("%.2f", v) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/mega) }

func times(p50, p99 time.Duration) string {
	return fmt.Sprintf("%.0f / %.0f", p50.Seconds()*1e3, p99.Seconds()*1e3)
}

// render returns the table of results, empty without rows.
func (t *table) render(all []result) string {
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
	head := "| " + strings.Join(t.columns, " | ") + " |\n" + strings.Repeat("|---", len(t.columns)) + "|\n"
	return t.heading + head + rows.String() + "\n"
}

// report returns the tables, comparisons with the first peer, failures and versions in Markdown.
func report(all []result) string {
	var b strings.Builder
	for _, t := range tables() {
		b.WriteString(t.render(all))
	}
	b.WriteString("A scrape plus a gzip read is the cost of one Prometheus:\n\n" + ratios(all) + "\n")
	b.WriteString(failures(all) + versions(all))
	return b.String()
}

// ratios compares the first peer with the others.
func ratios(all []result) string {
	var b strings.Builder
	for i := range all {
		first := &all[i]
		if first.Peer != all[0].Peer {
			continue
		}
		var parts []string
		for j := range all {
			if other := &all[j]; other.Targets == first.Targets && other.Peer != first.Peer && other.Failed == "" {
				parts = append(parts, ratio(first, other))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(
				&b,
				"- %s every %g s: the %s took %s.\n",
				targetCount(first.Targets),
				first.Interval.Seconds(),
				first.Peer,
				strings.Join(parts, "; "),
			)
		}
	}
	return b.String()
}

// ratio compares the costs of two peers.
func ratio(first, other *result) string {
	switch by := fmt.Sprintf("%.1f", other.cost()/first.cost()); {
	case by == "1.0":
		return "as much as " + other.Peer
	case first.cost() > other.cost():
		return fmt.Sprintf("%.1f times as much as %s", first.cost()/other.cost(), other.Peer)
	default:
		return by + " times less than " + other.Peer
	}
}

// targetCount formats a number of targets.
func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprint(n, " targets")
}

// failures lists what was omitted, and why.
func failures(all []result) string {
	var b strings.Builder
	for i := range all {
		r := &all[i]
		if r.Failed != "" {
			fmt.Fprintf(
				&b,
				"- Omitted: %s with %d targets: %s.\n",
				r.Peer,
				r.Targets,
				strings.ReplaceAll(r.Failed, "\n", ", "),
			)
		}
		for _, m := range r.Many {
			if m.Failed != "" {
				fmt.Fprintf(
					&b,
					"- Omitted: %d readers of %s with %d targets: %s.\n",
					m.Readers,
					r.Peer,
					r.Targets,
					m.Failed,
				)
			}
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// versions lists the measured programs.
func versions(all []result) string {
	var names []string
	for i := range all {
		if name := all[i].Peer + " (" + all[i].Version + ")"; all[i].Failed == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "Measured: " + strings.Join(names, "; ") + ".\n"
}
