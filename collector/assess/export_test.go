package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Series is a series of findings.
type Series struct {
	Family string
	Labels labels.Labels
	Value  float64
}

// Series returns the series of the findings, with the labels of the replica.
func (f *Findings) Series(lset labels.Labels) (all []Series) {
	f.series(func(family string, v float64, pairs []labels.Label) {
		b := labels.NewBuilder(lset)
		for _, l := range pairs {
			b.Set(l.Name, l.Value)
		}
		all = append(all, Series{family, b.Labels(), v})
	})
	return all
}

// Runbooks returns the entries of the runbook that verdicts may name.
func Runbooks() []string {
	names := []string{unmetRunbook, canaryRunbook, saturatedRunbook, suspectedRunbook, failingRunbook, processesRunbook}
	for _, c := range consequences {
		if c.runbook != "" {
			names = append(names, c.runbook)
		}
	}
	return names
}

// Severities returns the severity of each state.
func Severities() map[State]Severity {
	all := make(map[State]Severity)
	for _, c := range consequences {
		all[c.state] = c.severity
	}
	return all
}

// AllAccusations returns all accusations: none, and those of the table.
func AllAccusations() []Accusation {
	return inTable(Nothing, func(r *Ruling) []Accusation { return r.Accusations })
}

// AllAnswers returns all answers: one, and those of the table.
func AllAnswers() []Answer {
	return inTable(Answered, func(r *Ruling) []Answer { return r.Questions })
}

// AllWords returns all words: that of a ready server, and those of the table.
func AllWords() []Word {
	return inTable(SaysReady, func(r *Ruling) []Word { return r.Words })
}

// inTable returns a value and those of a column of the table, sorted.
func inTable[T cmp.Ordered](other T, column func(r *Ruling) []T) []T {
	all := []T{other}
	for i := range rulings {
		all = append(all, column(&rulings[i])...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// RulingsTable returns the table of verdicts as Markdown.
func RulingsTable() string {
	var b strings.Builder
	b.WriteString(
		"| accusation | acquitted | question | word | state | ready | live |\n|---|---|---|---|---|---|---|\n",
	)
	for i := range rulings {
		r := &rulings[i]
		acquitted := ""
		if len(r.Acquitted) > 0 {
			acquitted = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			list(r.Accusations), acquitted, list(r.Questions), list(r.Words), r.describe(), r.Ready, r.Live)
	}
	return b.String()
}

// describe returns the states of a row.
func (r *Ruling) describe() string {
	switch {
	case r.State != "" && r.Suspected:
		return "`" + string(r.State) + "`, suspected"
	case r.State != "" && r.Look:
		return "`" + string(r.State) + "`, look"
	case r.State != "":
		return "`" + string(r.State) + "`"
	}
	var states []string
	for _, a := range r.Accusations {
		if state := "`" + string(r.StateFor(a)) + "`"; !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return strings.Join(states, " or ")
}

// list joins values with "or".
func list[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = string(v)
	}
	return strings.Join(texts, " or ")
}

// Witnesses returns what decides.
func (e *Evidence) Witnesses() Witnesses { return e.witnesses() }
