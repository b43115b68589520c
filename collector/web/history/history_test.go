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

// followed runs a test with the history of one replica, whose first snapshot is first.
func followed(t *testing.T, first snapshot.Snapshot, test func(t *testing.T, store *snapshot.Store, slot *snapshot.Slot, h *history.History)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		slot.Publish(first)
		h := history.New(store)
		go h.Follow(t.Context())
		synctest.Wait()
		test(t, store, slot, h)
	})
}

// wait lets time pass, and the history read what is published.
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
	followed(t, tokens(10), func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
		for _, next := range []snapshot.Snapshot{tokens(20), {}, tokens(1e38), tokens(1e39), tokens(-1e300), tokens(40)} {
			slot.Publish(next)
			wait(history.SampleInterval)
		}

		samples := shown(h.Recent("a/r0").Tokens)
		require.InEpsilon(t, 1e38, samples[3], 1e-6)
		samples[3] = 1e38
		require.Equal(t, []float64{10, 20, -1, 1e38, -1, -1, 40}, samples, "an unknown number leaves a gap, and one that is too large for a sample")
		require.Equal(t, []float64{-1, -1, -1, -1, -1, -1, -1}, shown(h.Recent("a/r0").Waiting))
		require.Empty(t, h.Recent("a/other").Tokens)
	})
}

func TestSamplesOfTenMinutes(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
		for n := range 300 {
			slot.Publish(tokens(float64(n)))
			wait(history.SampleInterval)
		}

		samples := h.Recent("a/r0").Tokens
		require.Len(t, samples, int(10*time.Minute/history.SampleInterval))
		require.InDelta(t, 299, samples[len(samples)-1], 0)
		require.InDelta(t, 180, samples[0], 0)
	})
}

func TestRemovedReplicasAreForgotten(t *testing.T) {
	followed(t, tokens(1), func(t *testing.T, store *snapshot.Store, slot *snapshot.Slot, h *history.History) {
		require.NotEmpty(t, h.Recent("a/r0").Changes)

		store.Remove(slot)
		wait(history.SampleInterval)
		require.Equal(t, history.Recent{}, h.Recent("a/r0"))
	})
}

func TestChangesOfState(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
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
			slot.Publish(snapshot.Snapshot{Status: target.Status{
				Verdict: target.Verdict{State: step.state, Severity: step.severity, StateReason: step.reason, StateSince: since}, Scraping: target.Scraping{LastScrape: time.Now()},
			}})
			wait(2 * time.Second)
		}

		require.Equal(t, []string{"0s starting look", "2s ready ok", "6s ready broken", "8s ready ok", "10s failing broken"}, changes(h, began))
		last := h.Recent("a/r0").Changes[4].Reason
		require.LessOrEqual(t, len(last), 520, "a reason is bounded")
		require.True(t, strings.HasSuffix(last, "é…"))

		for n := range 50 {
			slot.Publish(snapshot.Snapshot{Status: target.Status{Verdict: target.Verdict{State: fmt.Sprint("s", n), StateSince: time.Now()}}})
			wait(time.Second)
		}
		recent := h.Recent("a/r0").Changes
		require.Len(t, recent, 20, "states are bounded")
		require.Equal(t, "s49", recent[19].State)
		require.Equal(t, "s30", recent[0].State)
	})
}

// TestTimesOfChangesNeverDecrease changes the verdict between two scrapes, when a status has only
// the time of the last scrape.
func TestTimesOfChangesNeverDecrease(t *testing.T) {
	for scraped, want := range map[time.Duration][]string{
		-time.Second: {"0s ready ok", "0s ready broken"},
		time.Second:  {"0s ready ok", "1s ready broken"},
	} {
		followed(t, snapshot.Snapshot{}, func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
			began := time.Now()
			for _, severity := range []string{"ok", "broken"} {
				slot.Publish(snapshot.Snapshot{Status: target.Status{
					Verdict: target.Verdict{State: "ready", Severity: severity, StateSince: began}, Scraping: target.Scraping{LastScrape: began.Add(scraped)},
				}})
				wait(2 * time.Second)
			}

			require.Equal(t, want, changes(h, began))
		})
	}
}

func TestLastFailureStaysWhenScrapesSucceedAgain(t *testing.T) {
	followed(t, snapshot.Snapshot{}, func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
		failed := time.Now()
		slot.Publish(snapshot.Snapshot{Status: target.Status{Scraping: target.Scraping{LastScrape: failed, LastReason: "timeout", LastError: "no answer in 4s"}}})
		wait(2 * time.Second)
		slot.Publish(tokens(1))
		wait(2 * time.Second)

		require.Equal(t, history.Failure{Time: failed, Reason: "timeout", Text: "no answer in 4s"}, h.Recent("a/r0").Failure)
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

func TestObjectivesCountTheLastTenMinutes(t *testing.T) {
	followed(t, objectives(5000, 400, 500), func(t *testing.T, _ *snapshot.Store, slot *snapshot.Slot, h *history.History) {
		ttft := func() history.Counts {
			got := h.Figures(slot).Objectives
			require.InDelta(t, 2*got["ttft"].Requests, got["e2e"].Requests, 0)
			return got["ttft"]
		}
		require.Zero(t, ttft(), "counts from before the history")
		for minute := range 60 {
			now := float64(minute)
			slot.Publish(objectives(5000+10*now, 400+now, 500+2*now))
			wait(time.Minute)
		}
		require.Equal(t, history.Counts{Requests: 80, Bad: 8, BadAtMost: 16}, ttft(), "the oldest mark is eight to ten minutes old")

		slot.Publish(objectives(7, 3, 4))
		require.Equal(t, history.Counts{Requests: 7, Bad: 3, BadAtMost: 4}, ttft(), "the server has just restarted")
		wait(history.SampleInterval)
		slot.Publish(objectives(5100, 3, 4))
		require.Equal(t, history.Counts{Requests: 5100, Bad: 3, BadAtMost: 4}, ttft())
	})
}
