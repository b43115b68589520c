package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// kindSources is what a kind of server shows itself, without what an engine inside shows.
type kindSources struct {
	// kinds lists the kinds with the same series: usually one.
	kinds []string
	// inside lists the kinds whose series it passes on.
	inside  []string
	answers []engine.Signal
	// order lists the signals of the series as the kind lists them.
	order   []engine.Signal
	series  map[engine.Signal][]seriesName
	respelt []respelling
}

// seriesName is a series of a server, with the values of labels that select it.
type seriesName struct {
	name   string
	labels []string
}

// allSources returns the sources of all kinds, those with equal series together.
func allSources() (all []*kindSources) {
	for _, e := range engine.All() {
		k := sourcesOf(e)
		same := func(o *kindSources) bool { return fmt.Sprint(o.series) == fmt.Sprint(k.series) && len(k.series) > 0 }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].kinds = append(all[i].kinds, k.kinds...)
			continue
		}
		all = append(all, k)
	}
	return all
}

// sourcesOf reads the series of a kind.
func sourcesOf(e *engine.Kind) *kindSources {
	k := &kindSources{
		kinds:   []string{string(e.Name)},
		answers: e.Answers,
		series:  make(map[engine.Signal][]seriesName),
	}
	for _, m := range e.Meanings() {
		if m.Inside != "" {
			if !slices.Contains(k.inside, string(m.Inside)) {
				k.inside = append(k.inside, string(m.Inside))
			}
			continue
		}
		if k.series[m.Signal] == nil {
			k.order = append(k.order, m.Signal)
		}
		k.series[m.Signal] = append(k.series[m.Signal], nameOf(&m))
	}
	k.respelt = respellings(k.series)
	return k
}

// nameOf returns the name of a series with the labels that select it.
func nameOf(m *engine.Meaning) seriesName {
	s := seriesName{name: m.Name}
	for _, match := range m.Where {
		if label, ok := selection(match); ok {
			s.labels = append(s.labels, label)
		}
	}
	return s
}

// selection returns a match of a label as in PromQL. Matches that only exclude series are left out.
func selection(match engine.Match) (label string, ok bool) {
	switch {
	case match.Value == "" || match.Method == engine.Differs:
		return "", false
	case match.Method == engine.StartsWith:
		return fmt.Sprintf(`%s=~"%s.*"`, match.Label, match.Value), true
	}
	return fmt.Sprintf("%s=%q", match.Label, match.Value), true
}

// of lists the series that a family is made from, as the kind lists them, each text once.
func (k *kindSources) of(f *derive.Family) []string {
	lacks := func(s engine.Signal) bool { return !k.has(s) }
	var read []engine.Signal
	for _, set := range f.Inputs {
		if !slices.ContainsFunc(set, lacks) {
			read = append(read, set...)
		}
	}
	var names []seriesName
	for _, signal := range k.order {
		if slices.Contains(read, signal) {
			names = append(names, k.series[signal]...)
		}
	}
	return shown(k.withoutRespelt(names))
}

// has reports whether the page or the API of the kind has a signal.
func (k *kindSources) has(s engine.Signal) bool {
	return len(k.series[s]) > 0 || slices.Contains(k.answers, s)
}

// hasFamily reports whether a family without prefix is made from series of the kind.
func (k *kindSources) hasFamily(all []derive.Family, name string) bool {
	return slices.ContainsFunc(all, func(f derive.Family) bool {
		return f.Name == derive.Prefix+name && len(k.of(&f)) > 0
	})
}

// shown writes series like selectors, each name once.
func shown(all []seriesName) (texts []string) {
	var order []string
	byName := make(map[string][]seriesName)
	for _, s := range all {
		if _, ok := byName[s.name]; !ok {
			order = append(order, s.name)
		}
		byName[s.name] = append(byName[s.name], s)
	}
	for _, name := range order {
		text := name
		if labels := commonLabels(byName[name]); len(labels) > 0 {
			text += "{" + strings.Join(labels, ",") + "}"
		}
		texts = append(texts, "`"+text+"`")
	}
	return texts
}

// commonLabels returns the labels that select all of some series. Of a label with several values
// only the name is returned.
func commonLabels(all []seriesName) (labels []string) {
	for _, match := range all[0].labels {
		name, _, _ := strings.Cut(match, "=")
		sameLabel := func(m string) bool { return strings.HasPrefix(m, name+"=") }
		lacksLabel := func(s seriesName) bool { return !slices.ContainsFunc(s.labels, sameLabel) }
		lacksValue := func(s seriesName) bool { return !slices.Contains(s.labels, match) }
		switch {
		case slices.ContainsFunc(all, lacksLabel):
		case slices.ContainsFunc(all, lacksValue):
			labels = append(labels, name)
		default:
			labels = append(labels, match)
		}
	}
	return labels
}

// respelling is a part of names that releases spell in two ways.
type respelling struct{ usual, other string }

// respellings returns the spellings that so many signals have that they are said once for all.
func respellings(series map[engine.Signal][]seriesName) (all []respelling) {
	const many = 8
	signals := make(map[respelling]int)
	for _, names := range series {
		seen := make(map[respelling]bool)
		for i := range names {
			for _, other := range names[i+1:] {
				seen[differenceOf(names[i].name, other.name)] = true
			}
		}
		for r := range seen {
			signals[r]++
		}
	}
	for r, n := range signals {
		if n >= many && r.other != "" {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b respelling) int { return strings.Compare(a.other, b.other) })
	return all
}

// differenceOf returns the words in which two names differ, if the rest is the same.
func differenceOf(usual, other string) respelling {
	a, b := strings.Split(usual, "_"), strings.Split(other, "_")
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return respelling{strings.Join(a, "_"), strings.Join(b, "_")}
}

// withoutRespelt leaves out names that are another spelling of a name before them.
func (k *kindSources) withoutRespelt(names []seriesName) (kept []seriesName) {
	for _, s := range names {
		isOther := func(o seriesName) bool { return slices.Contains(k.respelt, differenceOf(o.name, s.name)) }
		if !slices.ContainsFunc(kept, isOther) {
			kept = append(kept, s)
		}
	}
	return kept
}

// sentence says how names are spelt otherwise.
func (r respelling) sentence() string {
	if r.usual == "" {
		return fmt.Sprintf("All names also occur with the prefix %#q.\n\n", r.other+"_")
	}
	return fmt.Sprintf("Names with %#q also occur with %#q in its place.\n\n", r.usual, r.other)
}
