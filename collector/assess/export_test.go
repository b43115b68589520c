package assess

import "github.com/prometheus/prometheus/model/labels"

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
	names := []string{unmetRunbook, canaryRunbook}
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
