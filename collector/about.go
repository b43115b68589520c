package collector

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// about renders what is known of a replica beside its page: state, health,
// models. These series stay on the page when the replica fails. It is not
// safe for concurrent use.
type about struct {
	out  *exposition.Computed
	last []statement
	next []statement
	// kept are the statements that follow from of, which change rarely.
	kept []statement
	of   *lore
	// id makes labels of the replica's own, for which the labels of its states
	// were made.
	id     *labels.Builder
	own    labels.Labels
	states []labels.Labels
}

// statement is one series of about with its value; the name of its family goes
// without the common prefix.
type statement struct {
	family string
	labels labels.Labels
	value  float64
}

// catalogueHeads are the heads of the catalogue's families by name, made once
// for all replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var catalogueHeads = sync.OnceValue(func() map[string]exposition.Family {
	heads := make(map[string]exposition.Family)
	for _, f := range derive.Catalogue() {
		heads[f.Name] = exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	}
	return heads
})

// say adds one series; its name goes without the common prefix.
func (a *about) say(name string, lset labels.Labels, v float64) {
	a.next = append(a.next, statement{name, lset, v})
}

// begin is for speaking of a replica with these labels.
func (a *about) begin(own labels.Labels) *labels.Builder {
	if a.id == nil {
		a.id = labels.NewBuilder(own)
	}
	a.id.Reset(own)
	if a.states == nil || !labels.Equal(a.own, own) {
		a.own, a.states = own, nil
		for _, s := range engine.States() {
			a.states = append(a.states, a.id.Set("state", string(s)).Labels())
		}
		a.id.Del("state")
	}
	return a.id
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// block renders what was said since the last block. The shape is made anew
// only when other series are said.
func (a *about) block() *exposition.Block {
	same := slices.EqualFunc(a.last, a.next, func(x, y statement) bool {
		return x.family == y.family && labels.Equal(x.labels, y.labels)
	})
	if a.out == nil || !same {
		series := make([]exposition.ComputedSeries, len(a.next))
		for i, s := range a.next {
			series[i] = exposition.ComputedSeries{Family: catalogueHeads()[derive.Prefix+s.family], Labels: s.labels}
		}
		a.out = exposition.NewComputed(series)
	}
	b := a.out.Block()
	for i, s := range a.next {
		b.Set(i, s.value)
	}
	b.Seal()
	a.last, a.next = a.next, a.last[:0]
	return b
}

// judge settles the replica's state from its page and its API.
func (r *replica) judge(failed error) {
	h := r.probed.Load()
	e := engine.Evidence{
		Was:  engine.State(r.status.State),
		Page: failed == nil, SamePort: r.engine.SamePort(),
		Seen: !r.status.LastSuccess.IsZero(), Grace: time.Since(r.begun) < startGrace,
		Silent: r.target.Silent,
	}
	if failed != nil {
		e.PageError, e.PageRefused = failed.Error(), scrape.ReasonOf(failed) == scrape.ReasonConnect
		e.Hint = r.pageHint(failed)
	}
	if h != nil {
		e.Health, e.APISeen, e.Lived = h.Health, h.answered, h.lived
	}
	if failed == nil {
		c := r.deriver.Conditions()
		e.Failing, e.Stalled = c.Failing, c.Stalled
		e.Unrouted = r.seen.Unrouted()
	}
	state, why := e.Judge()
	why += r.disagreement() + r.canaryDoubt()
	if string(state) != r.status.State {
		r.status.StateSince = time.Now()
	}
	r.status.State, r.status.StateReason = string(state), why
}

// startGrace is how long a replica that never answered may be starting:
// engines of large models take minutes to load, during which Triton opens no
// port (server src/main.cc).
const startGrace = 10 * time.Minute

// describe says what is known of the replica.
func (r *replica) describe(failed error) {
	if r.known == nil || failed != nil {
		// Without a page nobody else looks at what the server answered.
		r.identify(r.seen)
	}
	if !r.target.Silent {
		r.settle(failed)
		r.orderCanary()
	}
	own := r.own.Labels
	id := r.about.begin(own)
	for i, s := range engine.States() {
		r.about.say("state", r.about.states[i], flag(r.status.State == string(s)))
	}
	if h := r.probed.Load(); h != nil {
		if h.LiveKnown {
			r.about.say("live", own, flag(h.Live))
		}
		if h.API != engine.APIUnknown {
			r.about.say("ready", own, flag(h.API == engine.APIReady))
			r.about.say("health_check_duration_seconds", own, h.took.Seconds())
		}
	}
	r.sayIterations(id)
	r.sayCanary(id)
	r.about.keep(r.lore, id)
}
