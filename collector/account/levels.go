package account

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// track is what a gauge of one replica was over time.
type track struct {
	times  []time.Time
	values []float64
}

// tracks returns what a number of each replica was, of those pages that show it, nil if a model has none.
// Without is the tier that counts only if the other has nothing.
func (v *view) tracks(without engine.Tier, number func(p *point) float64) (all []track) {
	for i := range v.models {
		m := &v.models[i]
		of := make(map[*ledger]track)
		for _, l := range m.ledgers {
			of[l] = v.track(l, m.id, number)
		}
		counted := m.counting(without, func(l *ledger) bool { return len(of[l].times) > 0 })
		if len(counted) == 0 {
			return nil
		}
		for _, l := range counted {
			all = append(all, of[l])
		}
	}
	return all
}

// withoutModel are the gauges of a model that a server does not have: nothing of it runs or waits.
//
//nolint:gochecknoglobals // constant data.
var withoutModel = [gauges]float64{running: 0, active: 0, queue: 0, cache: math.NaN(), wholeKnown: math.NaN()}

// track returns what a number of a model was on the pages of the stretch that tell it. What runs or waits is 0 on
// a page without the model: servers load and unload models, and some show one only once it is used.
func (v *view) track(l *ledger, model string, number func(p *point) float64) (t track) {
	points, shown := l.points[model], false
	for _, at := range l.pages {
		p := point{at: at, values: withoutModel}
		if len(points) > 0 && points[0].at.Equal(at) {
			p, points = points[0], points[1:]
			shown = shown || !math.IsNaN(number(&p))
		}
		n := number(&p)
		if at.Before(v.from) || at.After(v.to) || math.IsNaN(n) {
			continue
		}
		t.times, t.values = append(t.times, at), append(t.values, n)
	}
	if !shown {
		return track{}
	}
	return t
}

// mean returns the mean over the time that the pages cover, which lie evenly.
func (t *track) mean() float64 {
	area, covered := t.area(func(float64) bool { return true })
	if covered == 0 {
		return t.values[0]
	}
	return area / covered
}

// area integrates over the time while the mean of two successive pages is counted.
func (t *track) area(counts func(float64) bool) (area, covered float64) {
	for i := 1; i < len(t.times); i++ {
		middle := (t.values[i-1] + t.values[i]) / 2
		if counts(middle) {
			seconds := t.times[i].Sub(t.times[i-1]).Seconds()
			area, covered = area+middle*seconds, covered+seconds
		}
	}
	return area, covered
}

// added returns the sum of all tracks at each of their times since the last of them begins.
func added(all []track) (sum track) {
	type step struct {
		at    time.Time
		track int
		value float64
	}
	var steps []step
	for n, t := range all {
		for i := range t.times {
			steps = append(steps, step{t.times[i], n, t.values[i]})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	latest, begun, total := make([]float64, len(all)), make(map[int]bool), 0.0
	for _, s := range steps {
		total += s.value - latest[s.track]
		latest[s.track], begun[s.track] = s.value, true
		if len(begun) == len(all) {
			sum.times, sum.values = append(sum.times, s.at), append(sum.values, total)
		}
	}
	return sum
}

// level returns the level of the sum of all tracks, whose mean is the sum of their means.
func level(all []track) *Level {
	sum := added(all)
	l := Level{Highest: new(slices.Max(sum.values)), Last: new(sum.values[len(sum.values)-1])}
	for i := range all {
		l.Mean += all[i].mean()
	}
	return &l
}

func of(g gauge) func(p *point) float64 { return func(p *point) float64 { return p.values[g] } }

// inBatch returns the running requests, or those that are admitted if a server does not tell them apart.
func inBatch(p *point) float64 {
	if n := p.values[running]; !math.IsNaN(n) {
		return n
	}
	return p.values[active]
}

// inServer returns the requests in the server, running or waiting.
func inServer(p *point) float64 {
	n := inBatch(p)
	if waiting := p.values[queue]; !math.IsNaN(waiting) {
		return n + waiting
	}
	return math.Max(n, p.values[active])
}

func (b *builder) levels() {
	f := b.figures
	inBatches := b.tracks(engine.TierFrontend, inBatch)
	f.Running = b.level(figureRunning, engine.CanRunning, inBatches)
	inServers := b.tracks(engine.TierFrontend, inServer)
	f.Open = b.level(figureOpen, engine.CanRunning, inServers)
	b.openByDuration(inServers)
	waiting := b.tracks(engine.TierWorker, of(queue))
	f.Queue = b.level(figureQueue, engine.CanQueue, waiting)
	b.batch(inBatches)
	f.Cache = b.cacheLevel()
	b.steady(waiting)
}

// level returns the level of tracks. The highest value is one even if nothing may be averaged, but a
// level without a mean is none.
func (b *builder) level(figure, capability string, all []track) *Level {
	if b.whole != "" || b.why != "" || len(all) == 0 {
		b.absent(figure, b.why, capability, notOnPage)
		return nil
	}
	return level(all)
}

// openByDuration replaces the sampled mean of the open requests by the exact one, the time that all requests
// took together by the time that passed, if no page shows them, or if all began and ended in between.
func (b *builder) openByDuration(inServers []track) {
	f := b.figures
	seconds, _, ok := b.wholeDurations()
	if !ok || b.why != "" || b.whole != "" || b.seconds() <= 0 {
		return
	}
	if f.Open == nil {
		f.Open = &Level{}
		delete(f.Absent, figureOpen)
	} else if values := added(inServers).values; values[0] > 0 || *f.Open.Last > 0 {
		return
	}
	f.Open.Mean = seconds / b.seconds()
	if f.Open.Highest != nil && *f.Open.Highest < f.Open.Mean { // Pages came when less was open.
		f.Open.Highest = nil
	}
}

// batch sets the mean size of batches while there were any, or of those that the core of a server makes.
func (b *builder) batch(inBatches []track) {
	area, busy := 0.0, 0.0
	for i := range inBatches {
		a, c := inBatches[i].area(func(n float64) bool { return n > 0 })
		area, busy = area+a, busy+c
	}
	inferences, _ := b.total(modelInferences)
	executions, ok := b.total(modelExecutions)
	switch {
	case b.whole != "" || b.why != "":
		b.absent(figureBatch, b.why, "", "")
	case busy > 0:
		b.figures.Batch = new(area / busy)
	case len(inBatches) == 0 && ok && executions > 0:
		b.figures.Batch = new(inferences / executions)
	default:
		b.absent(figureBatch, "", engine.CanRunning, "nothing ran on any page")
	}
}

// cacheLevel returns the mean use of the KV caches, the highest of any, and the mean at the end.
func (b *builder) cacheLevel() *Level {
	all := b.tracks(engine.TierFrontend, of(cache))
	if b.whole != "" || b.why != "" || len(all) == 0 {
		b.absent(figureCache, b.why, engine.CanKVCache, notOnPage)
		return nil
	}
	mean, highest, last := 0.0, 0.0, 0.0
	for i := range all {
		mean += all[i].mean() / float64(len(all))
		highest = max(highest, slices.Max(all[i].values))
		last += all[i].values[len(all[i].values)-1] / float64(len(all))
	}
	return &Level{Mean: mean, Highest: &highest, Last: &last}
}

// A queue grows if the mean of each third of the time until its highest point is above the one before by
// growing of the last one, or the last one above both by half, and that is fewest requests or more. A stretch
// in which the queue is longest early, as when all clients begin at once, is steady.
const (
	growing    = 0.15
	fewest     = 2
	fewestSeen = 20
)

// grows reports whether the thirds of a stretch show that a queue grew.
func grows(values []float64) bool {
	first, second, third := thirds(values)
	all := second-first >= growing*third && third-second >= growing*third
	late := third >= 1.5*max(first, second)
	return third >= fewest && (all || late)
}

// steady judges whether the queue grew until its highest point, if that is in the second half.
func (b *builder) steady(waiting []track) {
	f := b.figures
	switch {
	case f.Queue == nil:
		f.Absent[figureSteady] = f.Absent[figureQueue]
		return
	case len(waiting[0].times) < fewestSeen:
		f.Absent[figureSteady] = fmt.Sprintf("too few pages to tell: %d", len(waiting[0].times))
		return
	}
	sum := added(waiting)
	top := 0
	for i, n := range sum.values {
		if n > sum.values[top] {
			top = i
		}
	}
	f.Steady = new(true)
	half := b.from.Add(b.to.Sub(b.from) / 2)
	if top+1 < fewestSeen/2 || sum.times[top].Before(half) || !grows(sum.values[:top+1]) {
		return
	}
	*f.Steady = false
	f.Growth = fmt.Sprintf("the queue grew until %s, from %.0f to %.0f requests",
		sum.times[top].Format(time.TimeOnly), sum.values[0], sum.values[top])
}

// thirds returns the means of the first, second and last third.
func thirds(values []float64) (first, second, third float64) {
	n := len(values)
	mean := func(part []float64) (sum float64) {
		for _, v := range part {
			sum += v / float64(len(part))
		}
		return sum
	}
	return mean(values[:n/3]), mean(values[n/3 : 2*n/3]), mean(values[2*n/3:])
}
