package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// releases writes a table for each kind of server: which releases lack a family, or some of its series.
func releases(b *bytes.Buffer, catalogue []derive.Family) {
	b.WriteString(releasesHead)
	var shared, unknown []string
	for _, k := range allSources() {
		shared = append(shared, k.kinds[1:]...)
	}
	for _, e := range engine.All() {
		rows := releaseRows(e, catalogue)
		switch {
		case slices.Contains(shared, string(e.Name)):
		case len(rows) == 0:
			unknown = append(unknown, string(e.Name))
		default:
			releaseTable(b, e, rows)
		}
	}
	fmt.Fprintf(b, "\nReleases of %s were not compared.\n", strings.Join(unknown, " and "))
}

// releaseTable writes the table of a kind.
func releaseTable(b *bytes.Buffer, e *engine.Kind, rows []releaseRow) {
	fmt.Fprintf(b, "\n### Releases of %s\n\nCompared: %s.", e.Name, e.Census)
	if e.ShowsHidden != "" {
		fmt.Fprintf(b, " Only `%s` shows what is hidden.", e.ShowsHidden)
	}
	var table strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", r.absent, few(r.families), cell(seriesIn(r.series)))
	}
	text, verified := table.String(), func(m engine.Meaning) bool { return m.Inside == "" && !m.Releases.Unverified }
	if !slices.ContainsFunc(e.Meanings(), verified) {
		text = strings.ReplaceAll(text, unverified, "") // The census says so of all.
	}
	b.WriteString("\n\n| absent | `llm_server_` | series |\n| --- | --- | --- |\n" + text)
}

// unverified is how releases say that nobody compared them with code.
const unverified = ", unverified"

// few lists texts, of many the first.
func few(all []string) string {
	const most = 8
	if left := len(all) - most; left > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), left)
	}
	return strings.Join(all, ", ")
}

// releaseRow is families that the same releases lack, and their series.
type releaseRow struct {
	absent   string
	families []string
	series   []engine.Meaning
}

// releaseRows returns the families of which some releases lack a series. Those that came together with all
// their series share a row.
func releaseRows(e *engine.Kind, catalogue []derive.Family) (rows []releaseRow) {
	k := sourcesOf(e)
	own := slices.DeleteFunc(slices.Clone(e.Meanings()), func(m engine.Meaning) bool {
		return m.Inside != "" || k.isOtherSpelling(&m, e.Meanings())
	})
	series := make(map[*derive.Family][]engine.Meaning)
	var order []*derive.Family
	for _, m := range own {
		f := familyOf(m.Signal, catalogue)
		if f == nil {
			continue
		}
		if series[f] == nil {
			order = append(order, f)
		}
		series[f] = append(series[f], m)
	}
	for _, f := range order {
		all := series[f]
		if !slices.ContainsFunc(all, func(m engine.Meaning) bool { return !m.Releases.All() }) {
			continue
		}
		r := releaseRow{k.absentIn(f, own), []string{words([]string{strings.TrimPrefix(f.Name, derive.Prefix)})}, all}
		same := func(o releaseRow) bool { return o.absent == r.absent && together(slices.Concat(o.series, all)) }
		if i := slices.IndexFunc(rows, same); i >= 0 {
			rows[i].families = append(rows[i].families, r.families...)
			rows[i].series = append(rows[i].series, all...)
		} else {
			rows = append(rows, r)
		}
	}
	return rows
}

// together reports whether the same releases show all these series.
func together(all []engine.Meaning) bool {
	return !slices.ContainsFunc(all, func(m engine.Meaning) bool { return m.Releases != all[0].Releases })
}

// isOtherSpelling reports whether a series has another name in the same releases, or a rare spelling.
func (k *kindSources) isOtherSpelling(m *engine.Meaning, all []engine.Meaning) bool {
	return slices.ContainsFunc(all, func(o engine.Meaning) bool {
		for _, r := range k.respelt {
			if o.Signal != m.Signal {
				continue
			}
			if r.usual == "" && differenceOf(m.Name, o.Name) == r && m.Releases == o.Releases {
				return true
			}
			if r.usual != "" && differenceOf(o.Name, m.Name) == r {
				return true
			}
		}
		return false
	})
}

// familyOf returns the family of ours that says most about a signal: the one that reads the fewest, of which
// an estimate is the last choice.
func familyOf(s engine.Signal, catalogue []derive.Family) (found *derive.Family) {
	fewest := 0
	for i := range catalogue {
		f := &catalogue[i]
		reads := slices.ContainsFunc(f.Inputs, func(set []engine.Signal) bool { return slices.Contains(set, s) })
		n := 2 * len(slices.Concat(f.Inputs...))
		if f.Grade == derive.Rough {
			n++
		}
		if reads && (found == nil || n < fewest) {
			found, fewest = f, n
		}
	}
	return found
}

// seriesIn lists series, with the releases that show them where these differ.
func seriesIn(all []engine.Meaning) string {
	var order []engine.Releases
	names := make(map[engine.Releases][]seriesName)
	for _, m := range all {
		if names[m.Releases] == nil {
			order = append(order, m.Releases)
		}
		names[m.Releases] = append(names[m.Releases], nameOf(&m))
	}
	texts := make([]string, len(order))
	for i, r := range order {
		texts[i] = few(shown(names[r]))
		if bounded := !r.All(); bounded && (len(order) > 1 || r.Of != "" || r.Unverified) {
			texts[i] += " " + strings.TrimPrefix(r.String(), "releases ")
		}
	}
	return strings.Join(texts, "; ")
}

// absentIn says which releases lack a family: all series of some signal, whichever set of signals it takes.
func (k *kindSources) absentIn(f *derive.Family, own []engine.Meaning) string {
	first, end := missing, ""
	for _, set := range f.Inputs {
		if slices.ContainsFunc(set, func(s engine.Signal) bool { return !k.has(s) }) {
			continue
		}
		from, before := "", missing
		for _, s := range set {
			since, until := span(s, own)
			from, before = later(from, since), earlier(before, until)
		}
		first, end = earlier(first, from), later(end, before)
	}
	var texts []string
	if first != "" {
		texts = append(texts, "before "+first)
	}
	if end != missing {
		texts = append(texts, "from "+end)
	}
	return strings.Join(texts, ", ")
}

// missing is later than any release.
const missing = "999999"

// span returns the first release that shows a series of a signal, and the first after which none does.
func span(s engine.Signal, own []engine.Meaning) (from, before string) {
	from = missing
	for _, m := range own {
		if m.Signal == s {
			from, before = earlier(from, m.Releases.From), later(before, cmp.Or(m.Releases.Before, missing))
		}
	}
	if before == "" {
		return "", missing // The API answers.
	}
	return from, before
}

// earlier and later return one of two releases, of which an empty one is the first, and a candidate is before its
// release.
func earlier(a, b string) string {
	notAfter := func(a, b string) bool { return (engine.Releases{From: a}).Hold(b) }
	switch {
	case a == "" || b == "":
		return ""
	case notAfter(a, b) && notAfter(b, a):
		return max(a, b) // They differ in what names a candidate.
	case notAfter(a, b):
		return a
	}
	return b
}

func later(a, b string) string {
	if earlier(a, b) == a {
		return b
	}
	return a
}
