package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Combine is how series with the same meaning and model are combined into one value.
type Combine uint8

const (
	// Sum adds them up: requests, tokens, blocks.
	Sum Combine = iota
	// Max takes the largest: sizes, timestamps.
	Max
	// Newest takes what changed last: multiprocess pages keep the gauges of dead processes.
	Newest
	// ZeroOnly is 0 if all are 0; otherwise there is no value.
	ZeroOnly
)

// Part is the role of a sample within its signal.
type Part uint8

// Parts of signals. A signal of form Single has only a value.
const (
	PartValue Part = iota
	PartBucket
	PartQuantile
	PartSum
	PartCount
)

// Meaning maps the series of one name to a signal, whose type it has.
type Meaning struct {
	// Name is the server's sample name, or family name of a histogram or summary.
	Name string
	// Where selects series by labels: those that match all.
	Where []Match
	// Unless lists what takes the meaning away, Releases are those whose pages show the series.
	Unless   []Exception
	Releases Releases
	// Copies lists labels, such as the rank, in which repetitions of one number differ. One
	// counts.
	Copies []string
	// Inside is the kind of the engine inside that shows the series, empty for the server's own.
	Inside Name
	// Rank is the label of data-parallel ranks, each of which has its own requests.
	Rank string
	// Signal is the signal. Shift is in decimal places to base units: 6 for microseconds.
	Signal Signal
	Shift  int
	// Added is true for a series that a file adds to a built-in kind, of which that knows nothing.
	Added bool
	// PerModel is true if the server counts for each model what the signal measures of an engine.
	PerModel bool

	Combine Combine
	// WhenEnded is true for tokens that count when their request ends, however it does, false if they
	// count as they come.
	WhenEnded bool
	// PerRequest is true for tokens of one inference of each request, however many it consists of.
	PerRequest bool
	// NotZero is true if the server shows 0 for an unknown value, see [Meaning.ZeroUnknown].
	NotZero bool
	// Dims lists the labels that are kept. Reasons are lower-cased.
	Dims []Dim
	// Const is a label that is added.
	Const Label
	// Outcome classifies the requests of a counter of ended requests, nil for other series.
	Outcome *Outcome
	// Fails lists the classes of requests that did not end well, which a histogram observes with those that did.
	Fails []Class
}

// Scope returns what the series measures.
func (m *Meaning) Scope() Scope {
	if m.PerModel {
		return OfModel
	}
	return m.Signal.Type().Scope
}

// Form returns how many series make up one value.
func (m *Meaning) Form() Form { return m.Signal.Type().Form }

// Indexed is the meaning of the samples named Name, and their part in the signal.
type Indexed struct {
	Meaning

	Part Part
	// Counter is true if the value only grows while the server runs, regardless of its TYPE.
	Counter bool
}

// Index holds the meanings of a kind by sample name. It is read-only.
type Index map[string][]Indexed

func newIndex(e *Kind) Index {
	index := make(Index)
	add := func(m Meaning, suffix string, part Part, counter bool) {
		m.Name += suffix
		m.Unless = slices.Clone(m.Unless)
		for i := range m.Unless {
			if m.Unless[i].Version != "" {
				continue
			}
			if !m.Unless[i].Mark {
				m.Unless[i].Name += suffix
			} else if _, ok := index[m.Unless[i].Name]; !ok {
				index[m.Unless[i].Name] = nil // It is watched.
			}
		}
		index[m.Name] = append(index[m.Name], Indexed{Meaning: m, Part: part, Counter: counter})
	}
	for _, m := range slices.Concat(e.Meanings(), processMeanings()) {
		switch m.Form() {
		case Single:
			add(m, "", PartValue, m.Signal.Type().Counter)
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

// withPrefix prepends a prefix to the names of meanings and to the names in Unless.
func withPrefix(prefix string, all []Meaning) []Meaning {
	for i := range all {
		all[i].Name = prefix + all[i].Name
		for n := range all[i].Unless {
			if e := &all[i].Unless[n]; e.Version == "" {
				e.Name = prefix + e.Name
			}
		}
	}
	return all
}

// Holds reports whether the meaning is right for a version of the server. It is true if that is unknown, as that of
// an engine inside is, unless releases decide.
func (m *Meaning) Holds(version string) bool {
	if m.Inside != "" {
		version = ""
	}
	return (!m.Releases.Decide || m.Releases.Hold(version)) && !slices.ContainsFunc(
		m.Unless,
		func(e Exception) bool { return e.Version != "" && strings.HasPrefix(version, e.Version) },
	)
}

// ZeroUnknown reports whether a value of 0 is unknown: always for some signals, or for this server.
func (m *Meaning) ZeroUnknown() bool { return m.NotZero || m.Signal.sized() }

// selects reports whether a series with that name matches Where.
func (m *Meaning) selects(lset labels.Labels) bool {
	return !slices.ContainsFunc(m.Where, func(match Match) bool { return !match.Selects(lset) })
}

// chooses reports whether Where selects series by that value of a label.
func (m *Meaning) chooses(label, value string) bool {
	return slices.Contains(m.Where, Match{label, value, Equals})
}

// Class classifies a request that ended.
type Class string

// Classes: answered, rejected because of a client error, canceled by the client, rejected for lack
// of capacity, failed by the server, and unknown if the server counts accepted requests.
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
	// Codes is true if reasons are HTTP status codes or classes of them like 4xx.
	Codes bool
	// Missed lists classes that the server counts only partly.
	Missed []Class
	// Repeats lists reasons of other counters, with a model, for requests of this one.
	Repeats []string
	// Again is the displayed reason under which other counters may count the same requests.
	Again string
}

// Misses reports whether the server counts a class only partly.
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

// ReasonPrefix returns the prefix for displayed reasons, since a status code alone is unclear.
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

// classOfCode returns the class of an HTTP status code, unknown of what is none. 424 says that what the server depends
// on failed: TGI's router answers so while its model server is down (text-generation-inference router/src/server.rs).
func classOfCode(code string) Class {
	switch {
	case code == "429" || code == "503" || code == "529":
		return ClassOverload
	case code == "499":
		return ClassCanceled
	case code == "424":
		return ClassServer
	case code != "" && code[0] == '4', code == "501", code == "505": // What the server does not implement.
		return ClassClient
	case code != "" && (code[0] == '2' || code[0] == '3'):
		return ClassOK
	case code != "" && code[0] == '5':
		return ClassServer
	}
	return ClassUnknown
}

// finished returns the outcome by finish reason; a reason that a later release may have is of an unknown class. It
// misses some canceled and all rejected requests.
func finished() *Outcome {
	return &Outcome{
		Usual: ClassUnknown,
		Of: map[string]Class{
			"": ClassOK, "stop": ClassOK, "length": ClassOK, "repetition": ClassOK, "content_filter": ClassOK,
			"tool_calls": ClassOK, "function_call": ClassOK, "eos": ClassOK, "eos_token": ClassOK, "stop_sequence": ClassOK,
			"abort": ClassCanceled, "aborted": ClassCanceled, "canceled": ClassCanceled, "cancelled": ClassCanceled,
			"error": ClassServer, "timeout": ClassOverload,
		},
		Missed: []Class{ClassCanceled, ClassOverload},
	}
}

// Ternary is the answer to a question about a server, which may not be known.
type Ternary uint8

// Answers.
const (
	Unsure Ternary = iota
	Yes
	No
)

// Tier is the position in a pool with a router, where only one tier counts; empty without one.
type Tier string

// Tiers.
const (
	TierFrontend Tier = "frontend"
	TierWorker   Tier = "worker"
)
