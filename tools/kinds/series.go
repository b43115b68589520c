package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// series is what a kind reads of the samples of one name, for programs.
type series struct {
	Kind engine.Name `json:"kind"`
	Name string      `json:"name"`
	// Type is that of the family: counter, gauge, histogram or summary.
	Type    string          `json:"type"`
	Signals []engine.Signal `json:"signals"`
	// Labels lists those by which samples are selected or split, Rank that of data-parallel ranks, Values
	// those values of labels that are selected.
	Labels []string            `json:"labels,omitempty"`
	Rank   string              `json:"rank,omitempty"`
	Values map[string][]string `json:"values,omitempty"`
}

// writeSeries writes the series of every kind as JSON, without those of engines inside.
func writeSeries(w io.Writer) error {
	var all []*series
	for _, k := range engine.All() {
		all = append(all, seriesOf(k)...)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(all)
}

// seriesOf lists the series of a kind, each name once.
func seriesOf(k *engine.Kind) (all []*series) {
	byName := make(map[string]*series)
	for _, m := range k.Meanings() {
		if m.Inside != "" {
			continue
		}
		s := byName[m.Name]
		if s == nil {
			s = &series{Kind: k.Name, Name: m.Name, Values: make(map[string][]string)}
			byName[m.Name] = s
			all = append(all, s)
		}
		s.add(&m)
	}
	return all
}

// add adds what a meaning reads.
func (s *series) add(m *engine.Meaning) {
	if s.Type == "" || m.Signal.Type().Counter {
		s.Type = typeOf(m)
	}
	s.Signals = with(s.Signals, m.Signal)
	if m.Rank != "" {
		s.Rank = m.Rank
	}
	for _, d := range m.Dims {
		s.Labels = with(s.Labels, d.Theirs)
	}
	for _, match := range m.Where {
		if match.Method == engine.Equals && match.Value == "" {
			continue // The series that lack it are read.
		}
		s.Labels = with(s.Labels, match.Label)
		if match.Method == engine.Equals {
			s.Values[match.Label] = with(s.Values[match.Label], match.Value)
		}
	}
}

// typeOf returns the type that a family of a meaning has if the server types it as it is read.
func typeOf(m *engine.Meaning) string {
	switch {
	case m.Form() == engine.Histogram:
		return "histogram"
	case m.Form() == engine.Summary:
		return "summary"
	case m.Signal.Type().Counter:
		return "counter"
	}
	return "gauge"
}

// with adds a value that is not there yet.
func with[T comparable](all []T, value T) []T {
	if slices.Contains(all, value) {
		return all
	}
	return append(all, value)
}
