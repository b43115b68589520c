package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// Scope is what a signal measures.
type Scope uint8

// Signals measure the engine behind an entry model, a model, or the server and its machine.
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
	// Newest takes what changed last: multiprocess pages keep the gauges of dead processes.
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
	// Copies lists labels that only tell repetitions of one number apart, as by rank. One counts.
	Copies []string
	// Inside is the kind of the engine inside that shows the series; empty for the server's own.
	Inside Kind
	// Rank is the label of data-parallel ranks, which have requests of their own.
	Rank string
	// Signal is the signal. Values move by Shift decimal places to base units: 6 for microseconds.
	Signal Signal
	Shift  int

	Scope   Scope
	Combine Combine
	// Counter is true if the value only grows while the server lives, whatever TYPE says.
	Counter bool
	// NotZero is true if the server shows 0 for an unknown value.
	NotZero bool
	// Dims lists the labels that are kept, as "theirs=ours" or one word. Reasons become lower case.
	Dims []string
	// Const is a label that is added, as "ours=value".
	Const string
	// Outcome classifies the requests that a counter of ended requests counts; nil for all others.
	Outcome *Outcome
	Form    Form
}

// Indexed is the meaning of the samples of one name, its Name, and their part in the signal.
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

// Holds reports whether the meaning is right in a version of the server; true if that is unknown.
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

// Class classifies a request that ended.
type Class string

// The classes are: answered, rejected for a mistake of the client, canceled by the client, rejected
// for lack of capacity, and failed by the server. It is unknown if the server counts a request when
// it accepts it.
const (
	ClassOK       Class = "ok"
	ClassClient   Class = "client"
	ClassCanceled Class = "canceled"
	ClassOverload Class = "overload"
	ClassServer   Class = "server"
	ClassUnknown  Class = "unknown"
)

// Classes returns the known classes in display order.
func Classes() []Class {
	return []Class{ClassOK, ClassClient, ClassCanceled, ClassOverload, ClassServer}
}

// Outcome classifies the requests of a counter by the reason in its labels.
type Outcome struct {
	// Usual is the class of reasons that Of does not list. Reasons are in lower case.
	Usual Class
	Of    map[string]Class
	// Codes is true if reasons are HTTP status codes, or classes of them like 4xx.
	Codes bool
	// Missed lists classes that the server counts only in part.
	Missed []Class
	// Repeats lists reasons of other counters, with a model, for requests of this one.
	Repeats []string
	// Again is the displayed reason under which other counters may count the same requests.
	Again string
}

// Misses reports whether the server counts a class only in part.
func (o *Outcome) Misses(class Class) bool { return slices.Contains(o.Missed, class) }

// Class returns the class of a reason in lower case.
func (o *Outcome) Class(reason string) Class {
	if c, ok := o.Of[reason]; ok {
		return c
	}
	if o.Codes {
		return classOfCode(reason)
	}
	return o.Usual
}

// ReasonPrefix returns the prefix for displayed reasons: a status code alone is unclear.
func (o *Outcome) ReasonPrefix() string {
	if o != nil && o.Codes {
		return "http_"
	}
	return ""
}

// Counts reports whether any reason has that class.
func (o *Outcome) Counts(class Class) bool {
	if o.Codes {
		return class != ClassOK && class != ClassUnknown
	}
	return o.Usual == class || slices.Contains(slices.Collect(maps.Values(o.Of)), class)
}

// classOfCode returns the class of an HTTP status code.
func classOfCode(code string) Class {
	switch {
	case code == "429" || code == "503" || code == "529":
		return ClassOverload
	case code == "499":
		return ClassCanceled
	case code != "" && code[0] == '4':
		return ClassClient
	case code != "" && (code[0] == '2' || code[0] == '3'):
		return ClassOK
	}
	return ClassServer
}

// finished returns the outcome by finish reason: not every client that left, nothing rejected.
func finished() *Outcome {
	return &Outcome{
		Usual: ClassOK, Of: map[string]Class{
			"abort": ClassCanceled, "aborted": ClassCanceled, "canceled": ClassCanceled, "cancelled": ClassCanceled,
			"error": ClassServer, "timeout": ClassOverload,
		},
		Missed: []Class{ClassCanceled, ClassOverload},
	}
}

// Trust is whether something is right. Only what is known to be right is exposed.
type Trust uint8

// The levels of trust.
const (
	TrustUnknown Trust = iota
	TrustYes
	TrustNo
)

// Tier is the position in a pool with a router, of which one tier counts; empty without one.
type Tier string

// The tiers.
const (
	TierFrontend Tier = "frontend"
	TierWorker   Tier = "worker"
)
