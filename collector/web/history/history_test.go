package history_test

import (
	"context"
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

// follow runs a history until the test ends.
func follow(t *testing.T, h *history.History) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Follow(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// sample publishes a snapshot for the next sample.
func sample(slot *snapshot.Slot, next snapshot.Snapshot) {
	slot.Publish(next)
	time.Sleep(history.SampleInterval)
	synctest.Wait()
}

func TestNumbersAreSampledEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		slot.Publish(tokens(10))
		follow(t, h)
		synctest.Wait()
		for _, next := range []snapshot.Snapshot{tokens(20), {}, tokens(40)} {
			sample(slot, next)
		}

		require.Equal(t, []float64{10, 20, -1, 40}, shown(h.Recent("a/r0").Tokens), "a number that is not known leaves a gap")
		require.Equal(t, []float64{-1, -1, -1, -1}, shown(h.Recent("a/r0").Waiting))
		require.Empty(t, h.Recent("a/other").Tokens)
	})
}

func TestANumberThatIsTooLargeForASampleIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		follow(t, h)
		synctest.Wait()
		for _, v := range []float64{1e38, 1e39, -1e300, 7} {
			sample(slot, tokens(v))
		}

		kept := shown(h.Recent("a/r0").Tokens)
		require.InEpsilon(t, 1e38, kept[1], 1e-6)
		require.Equal(t, []float64{-1, -1, 7}, kept[2:])
	})
}

func TestTenMinutesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		follow(t, h)
		synctest.Wait()
		for n := range 300 {
			sample(slot, tokens(float64(n)))
		}

		kept := h.Recent("a/r0").Tokens
		require.Len(t, kept, int(10*time.Minute/history.SampleInterval))
		require.InDelta(t, 299, kept[len(kept)-1], 0)
		require.InDelta(t, 180, kept[0], 0)
	})
}

func TestReplicasThatAreGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		slot.Publish(tokens(1))
		h := history.New(store)
		follow(t, h)
		synctest.Wait()
		require.NotEmpty(t, h.Recent("a/r0").Changes)

		store.Remove(slot)
		time.Sleep(history.SampleInterval)
		synctest.Wait()
		require.Equal(t, history.Recent{}, h.Recent("a/r0"))
	})
}

func TestStatesAreKeptAsTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		follow(t, h)
		synctest.Wait()
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
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}

		var seen []string
		for _, c := range h.Recent("a/r0").Changes {
			seen = append(seen, fmt.Sprint(c.Time.Sub(began), " ", c.State, " ", c.Severity))
		}
		require.Equal(t, []string{"0s starting look", "2s ready ok", "6s ready broken", "8s ready ok", "10s failing broken"}, seen)
		last := h.Recent("a/r0").Changes[4].Reason
		require.LessOrEqual(t, len(last), 520, "a reason is bounded")
		require.True(t, strings.HasSuffix(last, "é…"))
	})
}

// TestAChangeNeverCameBeforeTheOneThatItFollows changes the verdict between two scrapes, when a
// status has only the time of the last scrape.
func TestAChangeNeverCameBeforeTheOneThatItFollows(t *testing.T) {
	for _, c := range []struct {
		name    string
		scraped time.Duration
		want    []string
	}{
		{"a state that began after the last scrape", -time.Second, []string{"0s ready ok", "0s ready broken"}},
		{"a scrape since then", time.Second, []string{"0s ready ok", "1s ready broken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := snapshot.NewStore()
				slot := add(t, store, "r0")
				h := history.New(store)
				follow(t, h)
				synctest.Wait()
				began := time.Now()
				for _, severity := range []string{"ok", "broken"} {
					slot.Publish(snapshot.Snapshot{Status: target.Status{
						Verdict: target.Verdict{State: "ready", Severity: severity, StateSince: began}, Scraping: target.Scraping{LastScrape: began.Add(c.scraped)},
					}})
					time.Sleep(2 * time.Second)
					synctest.Wait()
				}

				var seen []string
				for _, change := range h.Recent("a/r0").Changes {
					seen = append(seen, fmt.Sprint(change.Time.Sub(began), " ", change.State, " ", change.Severity))
				}
				require.Equal(t, c.want, seen)
			})
		})
	}
}

func TestStatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		follow(t, h)
		for n := range 50 {
			slot.Publish(snapshot.Snapshot{Status: target.Status{Verdict: target.Verdict{State: fmt.Sprint("s", n), StateSince: time.Now()}}})
			time.Sleep(time.Second)
			synctest.Wait()
		}

		changes := h.Recent("a/r0").Changes
		require.Len(t, changes, 20)
		require.Equal(t, "s49", changes[19].State)
		require.Equal(t, "s30", changes[0].State)
	})
}

func TestTheLastFailureIsKeptWhenScrapesSucceedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		follow(t, h)
		failed := time.Now()
		slot.Publish(snapshot.Snapshot{Status: target.Status{Scraping: target.Scraping{LastScrape: failed, LastReason: "timeout", LastError: "no answer in 4s"}}})
		time.Sleep(2 * time.Second)
		slot.Publish(tokens(1))
		time.Sleep(2 * time.Second)
		synctest.Wait()

		require.Equal(t, history.Failure{Time: failed, Reason: "timeout", Text: "no answer in 4s"}, h.Recent("a/r0").Failure)
	})
}

// objectives publishes the counts of two objectives.
func objectives(slot *snapshot.Slot, requests, late, latest float64) {
	slot.Publish(snapshot.Snapshot{Derived: block([]series{
		{"slo_requests_total", []string{"slo", "ttft"}, requests},
		{"slo_requests_total", []string{"slo", "e2e"}, 2 * requests},
		{"slo_requests_bad_total", []string{"slo", "ttft", "bound", "lower"}, late},
		{"slo_requests_bad_total", []string{"slo", "ttft", "bound", "upper"}, latest},
		{"slo_requests_bad_total", []string{"slo", "e2e", "bound", "lower"}, 0},
		{"slo_requests_bad_total", []string{"slo", "e2e", "bound", "upper"}, 0},
	})})
}

func TestObjectivesCountTheLastTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := snapshot.NewStore()
		slot := add(t, store, "r0")
		h := history.New(store)
		objectives(slot, 5000, 400, 500)
		require.Zero(t, h.Figures(slot).Objectives["ttft"], "counts from before the history")
		follow(t, h)
		synctest.Wait()
		ttft := func() history.Counts {
			got := h.Figures(slot).Objectives
			require.InDelta(t, 2*got["ttft"].Requests, got["e2e"].Requests, 0)
			return got["ttft"]
		}
		for minute := range 60 {
			now := float64(minute)
			objectives(slot, 5000+10*now, 400+now, 500+2*now)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		require.Equal(t, history.Counts{Requests: 80, Bad: 8, BadAtMost: 16}, ttft(), "the oldest mark is eight to ten minutes old")

		objectives(slot, 7, 3, 4)
		require.Equal(t, history.Counts{Requests: 7, Bad: 3, BadAtMost: 4}, ttft(), "the server has just restarted")
		time.Sleep(history.SampleInterval)
		objectives(slot, 5100, 3, 4)
		require.Equal(t, history.Counts{Requests: 5100, Bad: 3, BadAtMost: 4}, ttft())
	})
}
