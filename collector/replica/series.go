package replica

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// aboutSeries renders what is known of a replica besides its page: state,
// health, models. These series stay when its scrape fails.
type aboutSeries struct {
	out  *exposition.Computed
	last []assess.Series
	next []assess.Series
	// kept are the series that follow from known, which change rarely, and states
	// those of the state; both have the labels own.
	own    labels.Labels
	known  *assess.Known
	kept   []assess.Series
	states []assess.Series
}

// Heads are the heads of the catalogue's families by name, made once for all
// replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var Heads = sync.OnceValue(func() map[string]exposition.Family {
	heads := make(map[string]exposition.Family)
	for _, f := range derive.Catalogue() {
		heads[f.Name] = exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	}
	return heads
})

// about renders what is known of the replica now.
func (r *Replica) about() *exposition.Block {
	a, own := &r.shown.about, r.page.identity.own
	if a.known != r.shown.known || !labels.Equal(a.own, own) || a.states == nil {
		a.own, a.known, a.states = own, r.shown.known, assess.StateSeries("", own)
		a.kept = r.shown.known.Series(own)
	}
	for _, s := range a.states {
		s.Value = flag(s.Labels.Get("state") == r.status.State)
		a.next = append(a.next, s)
	}
	r.healthSeries(own)
	r.iterationSeries(own)
	r.canarySeries(own)
	a.next = append(a.next, a.kept...)
	return a.block()
}

// add adds one series; its family goes without the common prefix.
func (a *aboutSeries) add(family string, lset labels.Labels, v float64) {
	a.next = append(a.next, assess.Series{Family: family, Labels: lset, Value: v})
}

// block renders what was added since the last block. The shape is made again
// only when the series are others.
func (a *aboutSeries) block() *exposition.Block {
	same := slices.EqualFunc(a.last, a.next, func(x, y assess.Series) bool {
		return x.Family == y.Family && labels.Equal(x.Labels, y.Labels)
	})
	if a.out == nil || !same {
		series := make([]exposition.ComputedSeries, len(a.next))
		for i, s := range a.next {
			series[i] = exposition.ComputedSeries{Family: Heads()[derive.Prefix+s.Family], Labels: s.Labels}
		}
		a.out = exposition.NewComputed(series)
	}
	b := a.out.Block()
	for i, s := range a.next {
		b.Set(i, s.Value)
	}
	b.Seal()
	a.last, a.next = a.next, a.last[:0]
	return b
}

// healthSeries are what the API said of the server's health.
func (r *Replica) healthSeries(own labels.Labels) {
	h, a := r.answers.health, &r.shown.about
	if h == nil {
		return
	}
	if h.LiveKnown {
		a.add("live", own, flag(h.Live))
	}
	if h.API != engine.APIUnknown {
		a.add("ready", own, flag(h.API == engine.APIReady))
		a.add("health_check_duration_seconds", own, h.took.Seconds())
	}
}

// iterationSeries are what was read of the iterations so far.
func (r *Replica) iterationSeries(own labels.Labels) {
	now, a := r.answers.iterations, &r.shown.about
	if now == nil {
		return
	}
	a.add("iteration_stats_failures_total", own, float64(now.failures))
	if !now.read {
		return
	}
	a.add("iteration_stats_read_total", own, float64(now.Iterations))
	a.add("iteration_stats_gaps_total", own, float64(now.Missing))
	a.add("iteration_stats_foreign_reader", own, flag(time.Since(now.foreign) < foreignFor))
	a.add("iteration_stats_generation_tokens_estimated_total", own, now.GeneratedTokens)
	a.add("iteration_stats_context_tokens_total", own, now.ContextTokens)
	a.add("iteration_stats_completed_requests_total", own, now.Completed)
	if now.Queued != nil {
		a.add("iteration_stats_queued_requests", own, *now.Queued)
	}
	if now.Active != nil {
		a.add("iteration_stats_active_requests", own, *now.Active)
	}
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
