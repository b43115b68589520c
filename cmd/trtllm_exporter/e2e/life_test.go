//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// life is an exporter that watches servers while they start, serve, break and end.
type life struct {
	exporter *exporter
	// t is the test of the step that runs, whole that of all steps.
	t, whole *testing.T
	// client is the server to which requests are sent, load those under way.
	client *server
	load   []*crowd
	// probes are asked all the time, by replica.
	probes map[string]*probed
	// always checks every page that is read.
	always func(p page)
	// happened is when the last thing was done to a server, took how long the last verdict took, and
	// stalled when the last one of that state was reached.
	happened, stalled time.Time
	took              time.Duration
}

// step is something that is done to servers, what the exporter must say from then on, and what else
// must be true then.
type step struct {
	name string
	does acts
	says verdicts
	then acts
}

// act does something to a server, or requires something besides a verdict.
type (
	act  func(l *life)
	acts []act
)

// verdicts are what the exporter says of replicas.
type verdicts []verdict

type verdict struct {
	replica, state string
	// probes are the answers of its probes.
	probes advice
	// reason is a part of the reason.
	reason string
	// unchanged is set if the state is the one from before the last thing that was done.
	unchanged bool
}

// suspected is the state of a ready replica about which a question would tell more.
const suspected = "suspected"

// is returns a verdict on replica r0.
func is(state string, probes advice, reason string) verdicts {
	return verdicts{{replica: "r0", state: state, probes: probes, reason: reason}}
}

// stays returns a verdict on replica r0 whose state has not changed.
func stays(state string, probes advice, reason string) verdicts {
	v := is(state, probes, reason)
	v[0].unchanged = true
	return v
}

// of returns the verdict on another replica.
func (v verdicts) of(replica string) verdicts {
	v[0].replica = replica
	return v
}

func (v verdicts) and(more verdicts) verdicts { return append(v, more...) }

// watch returns the life of servers that an exporter watches.
func watch(t *testing.T, e *exporter, client *server) *life {
	t.Helper()
	l := &life{exporter: e, t: t, whole: t, client: client, probes: map[string]*probed{}, happened: time.Now()}
	for _, r := range e.reports(t) {
		l.probes[r.Replica] = startProbe(t, e, r.Pool, r.Replica)
	}
	return l
}

// plays runs steps, each of which needs those before it.
func (l *life) plays(steps ...step) {
	for _, s := range steps {
		passed := l.whole.Run(s.name, func(t *testing.T) {
			l.t = t
			l.play(s)
		})
		l.t = l.whole
		require.True(l.whole, passed, "the next steps need this one: %s", s.name)
	}
	for _, p := range l.probes {
		p.requireLive(l.whole, p.told)
	}
}

func (l *life) play(s step) {
	before := l.happened
	for _, does := range s.does {
		does(l)
	}
	if len(s.does) > 0 && l.happened.Equal(before) {
		l.happened = time.Now()
	}
	l.hears(s.says)
	for _, also := range s.then {
		also(l)
	}
}

// hears waits for verdicts in the report, on the page and by the probes. How long they took is logged
// only, as that depends on how busy the machine is.
func (l *life) hears(all verdicts) {
	for _, v := range all {
		l.hear(v)
	}
}

func (l *life) hear(wanted verdict) {
	var r replicaReport
	await(l.t, 2*patience, func() string {
		r = l.exporter.replica(l.t, wanted.replica)
		got := r.State
		if r.Suspected && got == "ready" {
			got = suspected
		}
		shown, last := l.shown(wanted.replica), l.probes[wanted.replica].last()
		if got == wanted.state && strings.Contains(r.Reason, wanted.reason) && shown == r.State &&
			last.advice == wanted.probes {
			return ""
		}
		return fmt.Sprintf("%s: wanted %s, probes %v, reason %q; got %s, on the page %s, probes %v, reason %q",
			wanted.replica, wanted.state, wanted.probes, wanted.reason, got, shown, last.advice, r.Reason)
	})
	l.took = r.Since.Sub(l.happened)
	if wanted.unchanged {
		require.LessOrEqual(l.t, l.took, time.Duration(0), "%s has been %s since", wanted.replica, wanted.state)
	}
	if wanted.state == "stalled" {
		l.stalled = r.Since
	}
	p := l.probes[wanted.replica]
	p.requireLive(l.t, wanted.probes)
	l.t.Logf("%s %s after %s, probes %v after %s: %s", wanted.replica, wanted.state, l.took.Round(time.Millisecond),
		wanted.probes, p.last().time.Sub(l.happened).Round(10*time.Millisecond), r.Reason)
}

// shown returns the state of a replica on the page, only one of which may hold.
func (l *life) shown(replica string) string {
	var states []string
	for _, s := range l.page().named("llm_server_state", "replica_id", replica) {
		if s.value == 1 {
			states = append(states, s.labels.Get("state"))
		}
	}
	return strings.Join(states, " and ")
}

// page reads the exporter's page and checks what must always be true.
func (l *life) page() page {
	p := l.exporter.page(l.t)
	requireFinite(l.t, p)
	if l.always != nil {
		l.always(p)
	}
	return p
}

// shows waits until one page has all these values, and returns it.
func (l *life) shows(wanted ...value) (p page) {
	await(l.t, patience, func() string {
		p = l.page()
		return p.wrong(wanted...)
	})
	return p
}

// requireFinite requires that derived values are finite, and not negative but for differences.
func requireFinite(t *testing.T, p page) {
	t.Helper()
	for key, s := range p.samples {
		name := s.labels.Get(model.MetricNameLabel)
		if strings.HasPrefix(name, "llm_server_") && !strings.HasSuffix(name, "_difference") {
			require.GreaterOrEqual(t, s.value, 0.0, key)
			require.LessOrEqual(t, s.value, math.MaxFloat64, key)
		}
	}
}
