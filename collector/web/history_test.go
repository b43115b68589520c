package web

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// series is a series of a replica with its value.
type series struct {
	name   string
	labels []string
	value  float64
}

// block returns a block of series with their values.
func block(all []series) *exposition.Block {
	computed := make([]exposition.ComputedSeries, len(all))
	for i, s := range all {
		computed[i] = exposition.ComputedSeries{
			Family: exposition.Family{Name: "llm_server_" + s.name, Type: model.MetricTypeGauge},
			Labels: labels.FromStrings(s.labels...),
		}
	}
	b := exposition.NewComputed(computed, nil).Block()
	for i, s := range all {
		b.Set(i, s.value)
	}
	return b
}

// addReplica adds replica r0 of pool a.
func addReplica(tb testing.TB, store *snapshot.Store) *snapshot.Slot {
	tb.Helper()
	slot, err := store.Add(&target.Target{PoolID: "a", ReplicaID: "r0"})
	require.NoError(tb, err)
	return slot
}

// tokens returns a snapshot of a replica that serves.
func tokens(perSecond float64) snapshot.Snapshot {
	return snapshot.Snapshot{
		Derived: block([]series{{"generation_tokens_per_second", []string{"model_id", "m"}, perSecond}}),
		Status: target.Status{
			Assessment: target.Assessment{State: "ready", Severity: "ok", StateSince: time.Unix(100, 0)},
			Scraping:   target.Scraping{LastScrape: time.Now()},
		},
	}
}

// shown replaces NaN, which is not equal to itself, by -1.
func shown(values []float64) []float64 {
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = -1
		}
	}
	return values
}

// tracked is a replica with its history.
type tracked struct {
	t     *testing.T
	store *snapshot.Store
	slot  *snapshot.Slot
	h     *history
}

// followed runs a test with the history of a replica, whose first snapshot is first.
func followed(t *testing.T, first snapshot.Snapshot, test func(r *tracked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		r := &tracked{t, store, addReplica(t, store), newHistory(store)}
		r.slot.Publish(first)
		go r.h.follow(t.Context())
		synctest.Wait()
		test(r)
	})
}

// wait lets time pass, so that the history reads the published snapshots.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stateChanges returns the states of the replica with their times since a moment.
func stateChanges(h *history, since time.Time) []string {
	var all []string
	for _, c := range h.recent("a/r0").changes {
		all = append(all, fmt.Sprint(c.StateSince.Sub(since), " ", c.State, " ", c.Severity))
	}
	return all
}

func TestNumbersAreSampledEveryFiveSeconds(t *testing.T) {
	followed(t, tokens(10), func(r *tracked) {
		for _, next := range []snapshot.Snapshot{
			tokens(20), {}, tokens(1e38), tokens(1e39), tokens(-1e300), tokens(40),
		} {
			r.slot.Publish(next)
			wait(sampleInterval)
		}

		samples := shown(r.h.recent("a/r0").tokens)
		require.InEpsilon(r.t, 1e38, samples[3], 1e-6)
		samples[3] = 1e38
		require.Equal(r.t, []float64{10, 20, -1, 1e38, -1, -1, 40}, samples, "an unknown number leaves a gap, and "+
			"one that is too large for a sample")
		require.Equal(r.t, []float64{-1, -1, -1, -1, -1, -1, -1}, shown(r.h.recent("a/r0").waiting))
		require.Empty(r.t, r.h.recent("a/other").tokens)
	})
}

func TestTenMinutesOfSamples(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *tracked) {
		for n := range 300 {
			r.slot.Publish(tokens(float64(n)))
			wait(sampleInterval)
		}

		samples := r.h.recent("a/r0").tokens
		require.Len(r.t, samples, int(10*time.Minute/sampleInterval))
		require.InDelta(r.t, 299, samples[len(samples)-1], 0)
		require.InDelta(r.t, 180, samples[0], 0)
	})
}

func TestRemovedReplicasAreForgotten(t *testing.T) {
	followed(t, tokens(1), func(r *tracked) {
		require.NotEmpty(r.t, r.h.recent("a/r0").changes)

		r.store.Remove(r.slot)
		wait(sampleInterval)
		require.Equal(r.t, recentHistory{}, r.h.recent("a/r0"))
	})
}

func TestStateChanges(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *tracked) {
		began := time.Now()
		since := began
		for _, step := range []struct {
			state, severity, reason string
			same                    bool
		}{
			{"starting", "look", "nothing listens yet", false},
			{"ready", "ok", "the API answers 200", false},
			{"ready", "ok", "the API answers 204", true},
			{"ready", "broken", "the canary request failed", true},
			{"ready", "ok", "the API answers 200", true},
			{"failing", "broken", strings.Repeat("é", 400), false},
		} {
			if !step.same {
				since = time.Now()
			}
			r.slot.Publish(snapshot.Snapshot{Status: target.Status{
				Assessment: target.Assessment{
					State:       step.state,
					Severity:    step.severity,
					StateReason: step.reason,
					StateSince:  since,
				}, Scraping: target.Scraping{LastScrape: time.Now()},
			}})
			wait(2 * time.Second)
		}

		require.Equal(r.t, []string{
			"0s starting look", "2s ready ok", "6s ready broken", "8s ready ok", "10s failing broken",
		}, stateChanges(r.h, began))
		last := r.h.recent("a/r0").changes[4].StateReason
		require.LessOrEqual(r.t, len(last), 520, "a reason is bounded")
		require.True(r.t, strings.HasSuffix(last, "é…"), "%q ends with a whole letter", last)

		for n := range 50 {
			r.slot.Publish(snapshot.Snapshot{Status: target.Status{Assessment: target.Assessment{
				State:      fmt.Sprint("s", n),
				StateSince: time.Now(),
			}}})
			wait(time.Second)
		}
		recent := r.h.recent("a/r0").changes
		require.Len(r.t, recent, 20, "states are bounded")
		require.Equal(r.t, "s49", recent[19].State)
		require.Equal(r.t, "s30", recent[0].State)
	})
}

// TestChangeTimesNeverDecrease changes the verdict between two scrapes, when a status has only
// the time of the last scrape.
func TestChangeTimesNeverDecrease(t *testing.T) {
	for scraped, want := range map[time.Duration][]string{
		-time.Second: {"0s ready ok", "0s ready broken"},
		time.Second:  {"0s ready ok", "1s ready broken"},
	} {
		followed(t, snapshot.Snapshot{}, func(r *tracked) {
			began := time.Now()
			for _, severity := range []string{"ok", "broken"} {
				r.slot.Publish(snapshot.Snapshot{Status: target.Status{
					Assessment: target.Assessment{
						State:      "ready",
						Severity:   severity,
						StateSince: began,
					}, Scraping: target.Scraping{LastScrape: began.Add(scraped)},
				}})
				wait(2 * time.Second)
			}

			require.Equal(r.t, want, stateChanges(r.h, began))
		})
	}
}

func TestLastFailureIsKeptAfterSuccess(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *tracked) {
		failed := time.Now()
		r.slot.Publish(snapshot.Snapshot{Status: target.Status{Scraping: target.Scraping{
			LastScrape: failed,
			LastReason: "timeout",
			LastError:  "no answer in 4s",
		}}})
		wait(2 * time.Second)
		r.slot.Publish(tokens(1))
		wait(2 * time.Second)

		require.Equal(r.t, failedScrape{failed, "timeout", "no answer in 4s"}, r.h.recent("a/r0").failure)
	})
}

// objectives returns a snapshot with the counts of two objectives.
func objectives(requests, late, latest float64) snapshot.Snapshot {
	bad := func(slo, bound string, v float64) series {
		return series{"slo_requests_bad_total", []string{"slo", slo, "bound", bound}, v}
	}
	return snapshot.Snapshot{Derived: block([]series{
		{"slo_requests_total", []string{"slo", "ttft"}, requests},
		{"slo_requests_total", []string{"slo", "e2e"}, 2 * requests},
		bad("ttft", "lower", late), bad("ttft", "upper", latest), bad("e2e", "lower", 0), bad("e2e", "upper", 0),
	})}
}

func TestObjectivesCountLastTenMinutes(t *testing.T) {
	followed(t, objectives(5000, 400, 500), func(r *tracked) {
		ttft := func() objectiveCounts {
			got := r.h.figures(r.slot).objectives
			require.InDelta(r.t, 2*got["ttft"].requests, got["e2e"].requests, 0)
			return got["ttft"]
		}
		require.Zero(r.t, ttft(), "counts from before the history")
		for minute := range 60 {
			now := float64(minute)
			r.slot.Publish(objectives(5000+10*now, 400+now, 500+2*now))
			wait(time.Minute)
		}
		require.Equal(r.t, objectiveCounts{80, 8, 16}, ttft(), "the oldest mark is eight to ten minutes old")

		r.slot.Publish(objectives(7, 3, 4))
		require.Equal(r.t, objectiveCounts{7, 3, 4}, ttft(), "the server has just restarted")
		wait(sampleInterval)
		r.slot.Publish(objectives(5100, 3, 4))
		require.Equal(r.t, objectiveCounts{5100, 3, 4}, ttft())
	})
}
