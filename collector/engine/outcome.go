package engine

import (
	"maps"
	"slices"
)

// Class is what became of a request.
type Class string

// The classes of requests that ended: answered, refused for the client's own
// mistake, given up by the client, refused for want of room, or failed by the
// server. Of a request that only its acceptance is counted the class is not
// known.
const (
	ClassOK       Class = "ok"
	ClassClient   Class = "client"
	ClassCanceled Class = "canceled"
	ClassOverload Class = "overload"
	ClassServer   Class = "server"
	ClassUnknown  Class = "unknown"
)

// Classes lists the classes that can be known, in the order in which they are
// shown.
func Classes() []Class {
	return []Class{ClassOK, ClassClient, ClassCanceled, ClassOverload, ClassServer}
}

// Outcome says what became of the requests that a counter counts, by the reason
// that its series name.
type Outcome struct {
	// Usual is the class of reasons that are not listed, Of those of reasons that
	// are, in lower case.
	Usual Class
	Of    map[string]Class
	// Codes says that reasons are status codes of HTTP, or begin with their first
	// digit: 4xx.
	Codes bool
	// Missed are classes of which the server counts only some requests.
	Missed []Class
	// Repeats says that the counter names no model, and are reasons of others, which
	// name one, whose requests it counts once more.
	Repeats []string
	// Again is the reason, as it is shown, under which other counters may count the
	// same requests once more; empty for none.
	Again string
}

// Misses says whether the server counts only some requests of a class.
func (o *Outcome) Misses(class Class) bool { return slices.Contains(o.Missed, class) }

// Class is the class of a reason in lower case: that of the list, of the status
// code, or the usual one.
func (o *Outcome) Class(reason string) Class {
	if c, ok := o.Of[reason]; ok {
		return c
	}
	if o.Codes {
		return classOfCode(reason)
	}
	return o.Usual
}

// ReasonPrefix is what is put before reasons, for a status code alone says little;
// empty without an outcome.
func (o *Outcome) ReasonPrefix() string {
	if o != nil && o.Codes {
		return "http_"
	}
	return ""
}

// Counts says whether any reason is of a class.
func (o *Outcome) Counts(class Class) bool {
	if o.Codes {
		return class != ClassOK && class != ClassUnknown
	}
	return o.Usual == class || slices.Contains(slices.Collect(maps.Values(o.Of)), class)
}

// classOfCode is the class of a status code.
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

// finished are the outcomes of requests that a server counts as finished, by
// their finish reason: engines count what was aborted or ended with an error
// there too, but not every client that left, and nothing that they refused.
func finished() *Outcome {
	return &Outcome{
		Usual: ClassOK, Of: map[string]Class{
			"abort": ClassCanceled, "aborted": ClassCanceled, "canceled": ClassCanceled, "cancelled": ClassCanceled,
			"error": ClassServer, "timeout": ClassOverload,
		},
		Missed: []Class{ClassCanceled, ClassOverload},
	}
}

// Trust says whether something that a server exposes can be believed.
type Trust uint8

// What is not known to be right is not exposed.
const (
	TrustUnknown Trust = iota
	TrustYes
	TrustNo
)

// Tier is the place of a server in a pool that has a router before its engines.
type Tier string

// The tiers: one quantity of a pool is that of one of them. Servers of pools
// without a router have none.
const (
	TierFrontend Tier = "frontend"
	TierWorker   Tier = "worker"
)
