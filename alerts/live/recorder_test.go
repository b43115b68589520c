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
	// every is the time between two readings of the truth.
	every = 100 * time.Millisecond
	// around is the number of readings that are averaged before and after a sample of a
	// gauge.
	around = 30
	// over is the window of rates: four scrapes of Prometheus, and the exporter's window.
	over = 20 * time.Second
)

// reading is the true state of all replicas at a moment.
type reading struct {
	at    time.Time
	truth []simulate.Truth
}

// recorder records the true state of a running fleet.
type recorder struct {
	replicas []*simulate.Replica
	pools    []string
	mu       sync.Mutex
	readings []reading
}

// record records until the test ends.
func record(t *testing.T, fleet *simulate.Fleet) *recorder {
	t.Helper()
	r := &recorder{}
	for _, p := range fleet.Pools() {
		for _, replica := range p.Replicas {
			r.replicas, r.pools = append(r.replicas, replica), append(r.pools, p.Name)
		}
	}
	var recording sync.WaitGroup
	done := make(chan struct{})
	recording.Go(func() {
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
		recording.Wait()
	})
	return r
}

// span is the time between the first and the last page of a replica that a point covers.
type span struct{ begin, end time.Time }

// window is the truth about some replicas over the time that a point of a panel covers.
type window struct {
	// before and after are the truth at both ends, around the readings close to the sample
	// of gauges, each by replica.
	before, after []simulate.Truth
	around        [][]simulate.Truth
	// latencies has an entry per request that ended, started per request that got its first token.
	latencies, started []simulate.Latency
}

// window returns the window of a point for the replicas with a pool and a name; empty
// selects all.
func (r *recorder) window(
	spans map[string]span,
	latencies map[*simulate.Replica][]simulate.Latency,
	pool, name string,
) window {
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

// index returns the first reading at or after a time, or else the last.
func (r *recorder) index(t time.Time) int {
	i, _ := slices.BinarySearchFunc(r.readings, t, func(x reading, t time.Time) int { return x.at.Compare(t) })
	return min(i, len(r.readings)-1)
}

// startedWithin returns the latencies of a replica's requests that got their first token within a
// time. Requests are listed in the order in which they end.
func (r *recorder) startedWithin(replica int, s span, latencies []simulate.Latency) []simulate.Latency {
	var started []simulate.Latency
	for i := r.index(s.begin) + 1; i < len(r.readings); i++ {
		count := uint64(len(latencies))
		before := min(count, r.readings[i-1].truth[replica].Finished)
		after := min(count, r.readings[i].truth[replica].Finished)
		for _, l := range latencies[before:after] {
			if t := r.readings[i].at.Add(l.TTFT - l.E2E); t.After(s.begin) && !t.After(s.end) {
				started = append(started, l)
			}
		}
	}
	return started
}

// count returns by how much a number grew.
func (w window) count(value func(simulate.Truth) uint64) float64 {
	sum := 0.0
	for i := range w.after {
		sum += float64(value(w.after[i]) - value(w.before[i]))
	}
	return sum
}

// rate returns by how much a number grew per second.
func (w window) rate(value func(simulate.Truth) uint64) float64 {
	sum := 0.0
	for i := range w.after {
		sum += float64(value(w.after[i])-value(w.before[i])) / (w.after[i].At - w.before[i].At).Seconds()
	}
	return sum
}

// sum returns the sum over the replicas of the mean of a number that rises and falls.
func (w window) sum(value func(simulate.Truth) float64) float64 {
	sum := 0.0
	for _, around := range w.around {
		for _, truth := range around {
			sum += value(truth) / float64(len(around))
		}
	}
	return sum
}

// highest returns the mean of the highest value among the replicas.
func (w window) highest(value func(simulate.Truth) float64) float64 {
	sum := 0.0
	for n := range w.around[0] {
		largest := math.Inf(-1)
		for _, around := range w.around {
			largest = max(largest, value(around[n]))
		}
		sum += largest
	}
	return sum / float64(len(w.around[0]))
}

// quantile returns a quantile of durations, in seconds.
func quantile(q float64, latencies []simulate.Latency, value func(simulate.Latency) time.Duration) float64 {
	all := durations(latencies, value)
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
}

// durations returns the positive durations of requests, in seconds.
func durations(latencies []simulate.Latency, value func(simulate.Latency) time.Duration) []float64 {
	var all []float64
	for _, l := range latencies {
		if v := value(l); v > 0 {
			all = append(all, v.Seconds())
		}
	}
	return all
}
