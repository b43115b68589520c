package history_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// replica is a replica with its history.
type replica struct {
	t     *testing.T
	store *snapshot.Store
	slot  *snapshot.Slot
	h     *history.History
}

// followed runs a test with the history of a replica, whose first snapshot is first.
func followed(t *testing.T, first snapshot.Snapshot, test func(r *replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		r := &replica{t, store, add(t, store, "r0"), history.New(store)}
		r.slot.Publish(first)
		go r.h.Follow(t.Context())
		synctest.Wait()
		test(r)
	})
}

// wait lets time pass, so that the history reads the published snapshots.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// changes returns the states of the replica with their times since a moment.
func changes(h *history.History, since time.Time) []string {
	var all []string
	for _, c := range h.Recent("a/r0").Changes {
		all = append(all, fmt.Sprint(c.Time.Sub(since), " ", c.State, " ", c.Severity))
	}
	return all
}

func TestNumbersAreSampledEveryFiveSeconds(t *testing.T) {
	followed(t, tokens(10), func(r *replica) {
		for _, next := range []snapshot.Snapshot{tokens(20), {}, tokens(1e38), tokens(1e39), tokens(-1e300), tokens(40)} {
			r.slot.Publish(next)
			wait(history.SampleInterval)
		}

		samples := shown(r.h.Recent("a/r0").Tokens)
		require.InEpsilon(r.t, 1e38, samples[3], 1e-6)
		samples[3] = 1e38
		require.Equal(r.t, []float64{10, 20, -1, 1e38, -1, -1, 40}, samples, "an unknown number leaves a gap, and one that is too large for a sample")
		require.Equal(r.t, []float64{-1, -1, -1, -1, -1, -1, -1}, shown(r.h.Recent("a/r0").Waiting))
		require.Empty(r.t, r.h.Recent("a/other").Tokens)
	})
}

func TestTenMinutesOfSamples(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *replica) {
		for n := range 300 {
			r.slot.Publish(tokens(float64(n)))
			wait(history.SampleInterval)
		}

		samples := r.h.Recent("a/r0").Tokens
		require.Len(r.t, samples, int(10*time.Minute/history.SampleInterval))
		require.InDelta(r.t, 299, samples[len(samples)-1], 0)
		require.InDelta(r.t, 180, samples[0], 0)
	})
}

func TestRemovedReplicasAreForgotten(t *testing.T) {
	followed(t, tokens(1), func(r *replica) {
		require.NotEmpty(r.t, r.h.Recent("a/r0").Changes)

		r.store.Remove(r.slot)
		wait(history.SampleInterval)
		require.Equal(r.t, history.Recent{}, r.h.Recent("a/r0"))
	})
}

func TestStateChanges(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *replica) {
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
				Verdict: target.Verdict{State: step.state, Severity: step.severity, StateReason: step.reason, StateSince: since}, Scraping: target.Scraping{LastScrape: time.Now()},
			}})
			wait(2 * time.Second)
		}

		require.Equal(r.t, []string{"0s starting look", "2s ready ok", "6s ready broken", "8s ready ok", "10s failing broken"}, changes(r.h, began))
		last := r.h.Recent("a/r0").Changes[4].Reason
		require.LessOrEqual(r.t, len(last), 520, "a reason is bounded")
		require.True(r.t, strings.HasSuffix(last, "é…"))

		for n := range 50 {
			r.slot.Publish(snapshot.Snapshot{Status: target.Status{Verdict: target.Verdict{State: fmt.Sprint("s", n), StateSince: time.Now()}}})
			wait(time.Second)
		}
		recent := r.h.Recent("a/r0").Changes
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
		followed(t, snapshot.Snapshot{}, func(r *replica) {
			began := time.Now()
			for _, severity := range []string{"ok", "broken"} {
				r.slot.Publish(snapshot.Snapshot{Status: target.Status{
					Verdict: target.Verdict{State: "ready", Severity: severity, StateSince: began}, Scraping: target.Scraping{LastScrape: began.Add(scraped)},
				}})
				wait(2 * time.Second)
			}

			require.Equal(r.t, want, changes(r.h, began))
		})
	}
}

func TestLastFailureIsKeptAfterSuccess(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(r *replica) {
		failed := time.Now()
		r.slot.Publish(snapshot.Snapshot{Status: target.Status{Scraping: target.Scraping{LastScrape: failed, LastReason: "timeout", LastError: "no answer in 4s"}}})
		wait(2 * time.Second)
		r.slot.Publish(tokens(1))
		wait(2 * time.Second)

		require.Equal(r.t, history.Failure{Time: failed, Reason: "timeout", Text: "no answer in 4s"}, r.h.Recent("a/r0").Failure)
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
	followed(t, objectives(5000, 400, 500), func(r *replica) {
		ttft := func() history.Counts {
			got := r.h.Figures(r.slot).Objectives
			require.InDelta(r.t, 2*got["ttft"].Requests, got["e2e"].Requests, 0)
			return got["ttft"]
		}
		require.Zero(r.t, ttft(), "counts from before the history")
		for minute := range 60 {
			now := float64(minute)
			r.slot.Publish(objectives(5000+10*now, 400+now, 500+2*now))
			wait(time.Minute)
		}
		require.Equal(r.t, history.Counts{Requests: 80, Bad: 8, BadAtMost: 16}, ttft(), "the oldest mark is eight to ten minutes old")

		r.slot.Publish(objectives(7, 3, 4))
		require.Equal(r.t, history.Counts{Requests: 7, Bad: 3, BadAtMost: 4}, ttft(), "the server has just restarted")
		wait(history.SampleInterval)
		r.slot.Publish(objectives(5100, 3, 4))
		require.Equal(r.t, history.Counts{Requests: 5100, Bad: 3, BadAtMost: 4}, ttft())
	})
}
