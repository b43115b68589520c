package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// Scope is what a signal measures.
type Scope uint8

// Signals measure the engine that serves an entry model, one model of the server, or the server and
// its machine as a whole.
const (
	OfEngine Scope = iota
	OfModel
	OfServer
)

// Combine is how series of equal meaning and model become one value.
type Combine uint8

const (
	// Sum adds them: requests, tokens, blocks.
	Sum Combine = iota
	// Max takes the largest: sizes, timestamps.
	Max
	// Newest takes the one that changed last: a trtllm-serve in multiprocess mode keeps the gauges
	// of dead processes, each under its own pid.
	Newest
	// ZeroOnly gives 0 if all are 0, and no value otherwise.
	ZeroOnly
)

// Form is how many series make one value of a signal.
type Form uint8

const (
	// Single is one series.
	Single Form = iota
	// Histogram is buckets, a sum and a count.
	Histogram
	// Summary is quantiles, a sum and a count.
	Summary
)

// Part is the role of a sample within its signal.
type Part uint8

// The parts of signals. A signal of form Single has only a value.
const (
	PartValue Part = iota
	PartBucket
	PartQuantile
	PartSum
	PartCount
)

// Meaning maps the series of one name to a signal.
type Meaning struct {
	// Name is the server's sample name, or family name of a histogram or summary.
	Name string
	// Where selects series by labels: "label=value", "label=prefix*" or "label!=value".
	Where []string
	// Unless lists names that replace this one where the page shows them for the same model, as
	// newer releases do beside the old name. After [ofAny] it is a name for any model, after
	// [inVersion] the prefix of a server version that counts wrongly.
	Unless []string
	// Copies lists labels by whose values a server repeats one number, as each rank of a
	// tensor-parallel engine does. One of the series counts.
	Copies []string
	// Inside is the kind of the engine inside that shows the series; empty for the server's own.
	Inside Kind
	// Rank is the label of data-parallel ranks: engines inside one server with requests of their
	// own, of which one may hang while others work.
	Rank string
	// Signal is the signal. Shift is the number of decimal places by which values move to become
	// seconds, bytes, joules or a ratio: 6 for microseconds.
	Signal Signal
	Shift  int

	Scope   Scope
	Combine Combine
	// Counter is true if the value only grows while the server lives, whatever TYPE says.
	Counter bool
	// NotZero is true if the server shows 0 for an unknown value.
	NotZero bool
	// Dims lists the labels that are kept, as "theirs=ours", or one word if both are equal. Reasons
	// become lower case; see [Outcome] for status codes.
	Dims []string
	// Const is a label that is added, as "ours=value".
	Const string
	// Outcome classifies the requests that a counter of ended requests counts; nil for all others.
	Outcome *Outcome
	Form    Form
}

// Indexed is the meaning of the samples of one name, and their part in the signal. Its Name is that
// of the samples.
type Indexed struct {
	Meaning

	Part Part
}

// Index holds meanings by sample name. It is read-only.
type Index map[string][]Indexed

// indexes holds an index for each kind, shared by all targets.
//
//nolint:gochecknoglobals // constant data, built on first use.
var indexes = sync.OnceValue(func() map[Kind]Index {
	all := map[Kind]Index{Unknown: newIndex(None())}
	for _, e := range registry {
		all[e.Kind()] = newIndex(e)
	}
	return all
})

// The prefixes of [Meaning.Unless].
const (
	ofAny     = "any "
	inVersion = "version "
)

// IndexOf returns the index of a kind's meanings.
func IndexOf(e Engine) Index { return indexes()[e.Kind()] }

func newIndex(e Engine) Index {
	index := make(Index)
	add := func(m Meaning, suffix string, part Part, counter bool) {
		m.Name += suffix
		m.Unless = slices.Clone(m.Unless)
		for i := range m.Unless {
			m.Unless[i] += suffix
		}
		m.Counter = counter
		index[m.Name] = append(index[m.Name], Indexed{m, part})
	}
	for _, m := range slices.Concat(e.Meanings(), processMeanings()) {
		switch m.Form {
		case Single:
			add(m, "", PartValue, m.Counter)
			continue
		case Histogram:
			add(m, "_bucket", PartBucket, true)
		case Summary:
			add(m, "", PartQuantile, false)
		}
		add(m, "_sum", PartSum, true)
		add(m, "_count", PartCount, true)
	}
	return index
}

// only returns a [Meaning.Where] for one value of a label.
func only(label, value string) []string { return []string{label + "=" + value} }

// withPrefix prepends a prefix to the names of meanings, and to those in Unless.
func withPrefix(prefix string, all []Meaning) []Meaning {
	for i := range all {
		all[i].Name = prefix + all[i].Name
		for n := range all[i].Unless {
			all[i].Unless[n] = prefix + all[i].Unless[n]
		}
	}
	return all
}

// Holds reports whether the meaning is right in a version of the server; true while the version is
// not known.
func (m *Meaning) Holds(version string) bool {
	return !slices.ContainsFunc(m.Unless, func(unless string) bool {
		prefix, ok := strings.CutPrefix(unless, inVersion)
		return ok && strings.HasPrefix(version, prefix)
	})
}

// selects reports whether a series of the name matches Where.
func (m *Meaning) selects(lset labels.Labels) bool {
	return !slices.ContainsFunc(m.Where, func(where string) bool {
		label, value, _ := strings.Cut(where, "=")
		if label, not := strings.CutSuffix(label, "!"); not {
			return lset.Get(label) == value
		}
		if prefix, ok := strings.CutSuffix(value, "*"); ok {
			return !strings.HasPrefix(lset.Get(label), prefix)
		}
		return lset.Get(label) != value
	})
}
