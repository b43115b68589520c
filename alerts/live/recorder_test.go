//go:build e2e_live

package live

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

const (
	// every is how often the truth is noted.
	every = 100 * time.Millisecond
	// around is how many readings before and after a sample of a gauge are averaged.
	around = 30
	// over is the time over which rates are taken: four scrapes of Prometheus, and
	// the exporter's window.
	over = 20 * time.Second
)

// reading is what was true of all replicas at a moment.
type reading struct {
	at    time.Time
	truth []simulate.Truth
}

// recorder notes what is true of a fleet while it runs.
type recorder struct {
	replicas []*simulate.Replica
	pools    []string
	mu       sync.Mutex
	readings []reading
}

// record begins to note what is true, until the test ends.
func record(t *testing.T, fleet *simulate.Fleet) *recorder {
	t.Helper()
	r := &recorder{}
	for _, p := range fleet.Pools() {
		for _, replica := range p.Replicas {
			r.replicas, r.pools = append(r.replicas, replica), append(r.pools, p.Name)
		}
	}
	var noting sync.WaitGroup
	done := make(chan struct{})
	noting.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			now := reading{at: time.Now()}
			for _, replica := range r.replicas {
				now.truth = append(now.truth, replica.Truth())
			}
			r.mu.Lock()
			r.readings = append(r.readings, now)
			r.mu.Unlock()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		noting.Wait()
	})
	return r
}

// span is the time between the first and the last page of a replica that a point shows.
type span struct{ begin, end time.Time }

// window is what was true of some replicas within the time that one point of a
// panel shows.
type window struct {
	// before and after are the truth at its ends, around the readings next to the
	// moment when gauges were sampled; one entry a replica each.
	before, after []simulate.Truth
	around        [][]simulate.Truth
	// latencies has an entry for each request that ended, started for each that got its first token.
	latencies, started []simulate.Latency
}

// window of a point, of the replicas that are chosen by pool and name; empty
// chooses all.
func (r *recorder) window(spans map[string]span, latencies map[*simulate.Replica][]simulate.Latency, pool, name string) window {
	r.mu.Lock()
	defer r.mu.Unlock()
	var w window
	for i, replica := range r.replicas {
		if pool != "" && r.pools[i] != pool || name != "" && replica.Name() != name {
			continue
		}
		s := spans[replica.Name()]
		first, last := r.index(s.begin), r.index(s.end)
		before, after := r.readings[first].truth[i], r.readings[last].truth[i]
		w.before, w.after = append(w.before, before), append(w.after, after)
		w.latencies = append(w.latencies, latencies[replica][before.Finished:after.Finished]...)
		w.started = append(w.started, r.startedWithin(i, s, latencies[replica])...)
		var near []simulate.Truth
		for _, x := range r.readings[last-around : last+around] {
			near = append(near, x.truth[i])
		}
		w.around = append(w.around, near)
	}
	return w
}

// index returns the first reading at a time or after it, or else the last.
func (r *recorder) index(t time.Time) int {
	i, _ := slices.BinarySearchFunc(r.readings, t, func(x reading, t time.Time) int { return x.at.Compare(t) })
	return min(i, len(r.readings)-1)
}

// startedWithin returns the latencies of a replica's requests that got their first token within a
// time. Requests are listed as they end, which is known to a reading.
func (r *recorder) startedWithin(replica int, s span, latencies []simulate.Latency) []simulate.Latency {
	var started []simulate.Latency
	for i := r.index(s.begin) + 1; i < len(r.readings); i++ {
		known := uint64(len(latencies))
		before, after := min(known, r.readings[i-1].truth[replica].Finished), min(known, r.readings[i].truth[replica].Finished)
		for _, l := range latencies[before:after] {
			if t := r.readings[i].at.Add(l.TTFT - l.E2E); t.After(s.begin) && !t.After(s.end) {
				started = append(started, l)
			}
		}
	}
	return started
}

// count is by how much a number grew.
func (w window) count(of func(simulate.Truth) uint64) float64 {
	sum := 0.0
	for i := range w.after {
		sum += float64(of(w.after[i]) - of(w.before[i]))
	}
	return sum
}

// rate is by how much a number grew in a second.
func (w window) rate(of func(simulate.Truth) uint64) float64 {
	sum := 0.0
	for i := range w.after {
		sum += float64(of(w.after[i])-of(w.before[i])) / (w.after[i].At - w.before[i].At).Seconds()
	}
	return sum
}

// level returns the mean of something that rises and falls, one entry a replica.
func (w window) level(of func(simulate.Truth) float64) []float64 {
	var levels []float64
	for _, around := range w.around {
		sum := 0.0
		for _, truth := range around {
			sum += of(truth)
		}
		levels = append(levels, sum/float64(len(around)))
	}
	return levels
}

// sum returns the sum of the levels of all replicas.
func (w window) sum(of func(simulate.Truth) float64) float64 {
	return average(w.level(of)) * float64(len(w.around))
}

// highest returns the mean of what was highest among the replicas.
func (w window) highest(of func(simulate.Truth) float64) float64 {
	sum := 0.0
	for n := range w.around[0] {
		most := math.Inf(-1)
		for _, around := range w.around {
			most = max(most, of(around[n]))
		}
		sum += most
	}
	return sum / float64(len(w.around[0]))
}

// quantile returns a quantile of durations, in seconds.
func quantile(q float64, latencies []simulate.Latency, of func(simulate.Latency) time.Duration) float64 {
	all := durations(latencies, of)
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
}

// durations returns those that requests have, in seconds.
func durations(latencies []simulate.Latency, of func(simulate.Latency) time.Duration) []float64 {
	var all []float64
	for _, l := range latencies {
		if v := of(l); v > 0 {
			all = append(all, v.Seconds())
		}
	}
	return all
}
