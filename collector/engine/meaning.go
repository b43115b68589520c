package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// Scope says what a signal is of.
type Scope uint8

// Signals are of the engine that serves an entry model, of one model of the
// server, or of the server or its machine as a whole.
const (
	OfEngine Scope = iota
	OfModel
	OfServer
)

// Combine says how series that mean the same of the same model become one.
type Combine uint8

const (
	// Sum adds them: requests, tokens, blocks.
	Sum Combine = iota
	// Max takes the largest: sizes, timestamps.
	Max
	// Newest takes the one that changed last: a trtllm-serve in multiprocess
	// mode keeps the gauges of dead processes, each under its own pid.
	Newest
	// Nothing takes 0 where all are 0, and nothing else.
	Nothing
)

// Form says how many series one value of a signal is made of.
type Form uint8

const (
	// Single signals are one series.
	Single Form = iota
	// Histogram signals are buckets, a sum and a count.
	Histogram
	// Summary signals are quantiles, a sum and a count.
	Summary
)

// Part says what a sample is within its signal.
type Part uint8

// The parts of signals; a signal of one series has only a value.
const (
	PartValue Part = iota
	PartBucket
	PartQuantile
	PartSum
	PartCount
)

// Meaning says what the series of one name mean.
type Meaning struct {
	// Name is the sample name at the server; of histograms and summaries the
	// name of the family.
	Name string
	// Where are the labels that series of the name must have, as "label=value", or
	// "label=begin*" for values that begin so, or "label!=value" for any but that;
	// empty takes all of them.
	Where []string
	// Unless are names, as in Name, next to which, for the same model, the series says
	// nothing new: those of newer releases for the same, which some show side by
	// side. Behind [ofAny] it is those of any model, and behind [inVersion] the beginning
	// of a version of the server that counts wrongly.
	Unless []string
	// Copies are labels by whose values a server repeats one number, as each rank
	// of a tensor-parallel engine does; one of the series counts.
	Copies []string
	// Inside is the kind of the engine inside a server that passes on its page; empty
	// for what the server says itself.
	Inside Kind
	// Rank is the label of data-parallel ranks: engines inside one server, each
	// with requests of its own, of which one may stand still while others work.
	Rank string
	// Signal is our word for it. Shift is by how many decimal places its
	// values move to be in seconds, bytes, joules or a ratio: 6 for
	// microseconds, 3 for milliseconds.
	Signal Signal
	Shift  int
	// Scope and Combine say what the signal is of and how equals combine.
	Scope   Scope
	Combine Combine
	// Counter is true when the value only grows within one life of the
	// server, whatever TYPE says.
	Counter bool
	// NotZero is true when the server says 0 for what it does not know.
	NotZero bool
	// Dims are the server's labels that stay, as "theirs=ours", or one word
	// when both are the same. Reasons are in lower case, status codes as [Outcome]
	// says.
	Dims []string
	// Const is a label that is added, as "ours=value".
	Const string
	// Outcome says of counters of requests that ended what became of them; nil for
	// all others.
	Outcome *Outcome
	// Form says how many series make the signal.
	Form Form
}

// Indexed is what the samples of one name mean, and which part of the signal they
// are; the name is that of the samples.
type Indexed struct {
	Meaning

	Part Part
}

// Index finds the meanings of a sample name; it is only read.
type Index map[string][]Indexed

// indexes are made once and shared by all targets of an engine, of which a
// process may have thousands.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var indexes = sync.OnceValue(func() map[Kind]Index {
	made := map[Kind]Index{Unknown: newIndex(None())}
	for _, e := range registry {
		made[e.Kind()] = newIndex(e)
	}
	return made
})

// ofAny begins a name of [Meaning.Unless] whose servers call the model otherwise.
const ofAny = "any "

// inVersion begins a version of [Meaning.Unless].
const inVersion = "version "

// IndexOf gives the meanings of a kind, prepared for look-up.
func IndexOf(e Engine) Index { return indexes()[e.Kind()] }

// newIndex prepares the meanings of an engine.
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
	for _, m := range slices.Concat(e.Meanings(), anyProcess()) {
		switch m.Form {
		case Single:
			add(m, "", PartValue, m.Counter)
		case Histogram:
			add(m, "_bucket", PartBucket, true)
			add(m, "_sum", PartSum, true)
			add(m, "_count", PartCount, true)
		case Summary:
			add(m, "", PartQuantile, false)
			add(m, "_sum", PartSum, true)
			add(m, "_count", PartCount, true)
		}
	}
	return index
}

// only selects the series of a name that have one value of a label.
func only(label, value string) []string { return []string{label + "=" + value} }

// Holds says whether the name means this in a version of the server, as far as that is
// known.
func (m *Meaning) Holds(version string) bool {
	return !slices.ContainsFunc(m.Unless, func(unless string) bool {
		begins, of := strings.CutPrefix(unless, inVersion)
		return of && strings.HasPrefix(version, begins)
	})
}

// selects says whether a series of the name is one that the meaning is of.
func (m *Meaning) selects(lset labels.Labels) bool {
	return !slices.ContainsFunc(m.Where, func(where string) bool {
		label, value, _ := strings.Cut(where, "=")
		if label, not := strings.CutSuffix(label, "!"); not {
			return lset.Get(label) == value
		}
		if begin, ok := strings.CutSuffix(value, "*"); ok {
			return !strings.HasPrefix(lset.Get(label), begin)
		}
		return lset.Get(label) != value
	})
}
