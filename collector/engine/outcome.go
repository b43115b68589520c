package engine

import (
	"maps"
	"slices"
)

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
	// Repeats lists reasons under which other counters, which name a model, count the requests of
	// this one, which names none.
	Repeats []string
	// Again is the displayed reason under which other counters may count the same requests; empty
	// for none.
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

// finished returns the outcome of requests counted by finish reason. Engines include aborted and
// failed ones, but not every client that left, and no rejected ones.
func finished() *Outcome {
	return &Outcome{
		Usual: ClassOK, Of: map[string]Class{
			"abort": ClassCanceled, "aborted": ClassCanceled, "canceled": ClassCanceled, "cancelled": ClassCanceled,
			"error": ClassServer, "timeout": ClassOverload,
		},
		Missed: []Class{ClassCanceled, ClassOverload},
	}
}

// Trust is whether something that a server exposes is right. Only what is known to be right is
// exposed.
type Trust uint8

// The levels of trust.
const (
	TrustUnknown Trust = iota
	TrustYes
	TrustNo
)

// Tier is the position of a server in a pool with a router; empty without one. A quantity of the
// pool is read from one tier.
type Tier string

// The tiers.
const (
	TierFrontend Tier = "frontend"
	TierWorker   Tier = "worker"
)
