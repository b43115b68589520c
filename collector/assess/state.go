package assess

import "sync"

// State is what a replica is doing, judged from its page and its API together.
type State string

// States of a replica, of which exactly one applies.
const (
	// Silent is a rank that binds no port, or a program that is not known to be an LLM server. It
	// has no state of its own and is not in States.
	Silent State = "silent"
	// Unknown is a replica that this process has never seen up and that may still start: whether
	// it ever served is unknown.
	Unknown  State = "unknown"
	Starting State = "starting"
	Ready    State = "ready"
	NotReady State = "not_ready"
	Unserved State = "unserved"
	Draining State = "draining"
	Failing  State = "failing"
	Stalled  State = "stalled"
	// CanaryFailing is a replica of which only the canary shows that it answers no requests.
	CanaryFailing State = "canary_failing"

	Blind State = "blind"
	Down  State = "down"
)

// States returns all states of replicas with a port, the worst first, in a shared slice.
//
//nolint:gochecknoglobals // constant data, built on first use.
var States = sync.OnceValue(func() (all []State) {
	for _, c := range consequences {
		if c.state != Silent {
			all = append(all, c.state)
		}
	}
	return all
})

// consequence is what follows from a state, regardless of its reason.
type consequence struct {
	state    State
	severity Severity
	// runbook is the entry of the runbook, empty if nothing is wrong.
	runbook string
	// holdsCanary is true if the canary sends no requests in this state.
	holdsCanary bool
}

// consequences lists the consequences of every state, the worst first.
//
//nolint:gochecknoglobals // constant data.
var consequences = []consequence{
	{Down, Broken, "LLMReplicaDown", true},
	{Failing, Broken, "LLMReplicaBroken", false},
	{Stalled, Broken, "LLMReplicaBroken", false},
	{Unserved, Broken, "LLMReplicaBroken", true},
	{NotReady, Broken, "LLMReplicaNotUp", true},
	{CanaryFailing, Broken, canaryRunbook, false},
	{Blind, Look, "LLMReplicaUnreadable", false},
	{Draining, Look, "LLMReplicaNotUp", true},
	{Starting, Look, "LLMReplicaNotUp", true},
	{Unknown, Look, "LLMReplicaNotUp", true},
	{Ready, OK, "", false},
	{Silent, OK, "", true},
}

// consequenceOf returns the consequence of a state, the zero value for the empty state.
func consequenceOf(s State) consequence {
	for _, c := range consequences {
		if c.state == s {
			return c
		}
	}
	return consequence{}
}

// Holds reports whether no requests of the exporter's own are sent in a state.
func Holds(s State) bool { return consequenceOf(s).holdsCanary }

// Serves reports whether a replica answers requests as far as is known, given its state and what its
// readiness probe answers: a blind one does if it did before, or if its API is ready.
func Serves(s State, ready bool) bool { return s == Ready || s == Blind && ready }
