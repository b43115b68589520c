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
	// late is how much older than a point of a panel what it shows is: half an
	// interval of the exporter's scrapes, of Prometheus' and of the rules.
	late = 3 * time.Second
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

// window is what was true of some replicas within the time that one point of a
// panel shows.
type window struct {
	seconds float64
	// before and after are the truth at its ends, around the readings next to the
	// moment when gauges were sampled; one entry a replica each.
	before, after []simulate.Truth
	around        [][]simulate.Truth
	latencies     []simulate.Latency
}

// window of a point, of the replicas that are chosen by pool and name; empty
// chooses all.
func (r *recorder) window(at time.Time, latencies map[*simulate.Replica][]simulate.Latency, pool, name string) window {
	r.mu.Lock()
	defer r.mu.Unlock()
	index := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(r.readings, at, func(x reading, at time.Time) int { return x.at.Compare(at) })
		return min(i, len(r.readings)-1)
	}
	first, last := index(at.Add(-late-over)), index(at.Add(-late))
	w := window{seconds: r.readings[last].at.Sub(r.readings[first].at).Seconds()}
	for i, replica := range r.replicas {
		if pool != "" && r.pools[i] != pool || name != "" && replica.Name() != name {
			continue
		}
		before, after := r.readings[first].truth[i], r.readings[last].truth[i]
		w.before, w.after = append(w.before, before), append(w.after, after)
		w.latencies = append(w.latencies, latencies[replica][before.Finished:after.Finished]...)
		var around []simulate.Truth
		for _, x := range r.readings[index(at.Add(-2*late)):index(at)] {
			around = append(around, x.truth[i])
		}
		w.around = append(w.around, around)
	}
	return w
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
func (w window) rate(of func(simulate.Truth) uint64) float64 { return w.count(of) / w.seconds }

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
	sum := 0.0
	for _, v := range w.level(of) {
		sum += v
	}
	return sum
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

// mean returns the mean duration of completed requests, in seconds.
func (w window) mean(of func(simulate.Latency) time.Duration) float64 {
	sum, n := 0.0, 0
	for _, l := range w.latencies {
		if v := of(l); v > 0 {
			sum, n = sum+v.Seconds(), n+1
		}
	}
	return sum / float64(n)
}

// quantile returns a quantile of durations of completed requests, in seconds.
func (w window) quantile(q float64, of func(simulate.Latency) time.Duration) float64 {
	var all []float64
	for _, l := range w.latencies {
		if v := of(l); v > 0 {
			all = append(all, v.Seconds())
		}
	}
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
}
