package assess_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// TestWitnesses is the table of docs/concepts.md in sentences.
func TestWitnesses(t *testing.T) {
	const acquitted = true
	for _, c := range []struct {
		name        string
		witnesses   assess.Witnesses
		state       assess.State
		ready, live assess.Probe
	}{
		{
			"nothing is wrong",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.SaysReady},
			assess.Ready, assess.Pass, assess.Pass,
		},
		{
			"the canary fails, others end well",
			assess.Witnesses{assess.Nothing, acquitted, assess.FailedTwice, assess.SaysReady},
			assess.Ready,
			assess.Pass, assess.Pass,
		},
		{
			"the canary failed once, nobody else asks",
			assess.Witnesses{assess.Nothing, false, assess.Failed, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"the canary failed twice, nobody else asks",
			assess.Witnesses{assess.Nothing, false, assess.FailedTwice, assess.SaysReady},
			assess.CanaryFailing,
			assess.Fail, assess.Pass,
		},
		{
			"only failures end",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysReady},
			assess.Failing, assess.Fail, assess.Pass,
		},
		{
			"only failures end, of an unknown API",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysNothing},
			assess.Failing,
			assess.Fail, assess.Pass,
		},
		{
			"only failures end, a question is on its way",
			assess.Witnesses{assess.OnlyFailures, false, assess.Awaited, assess.SaysReady},
			assess.Failing, assess.Fail,
			assess.Pass,
		},
		{
			"only failures end, the question was answered",
			assess.Witnesses{assess.OnlyFailures, false, assess.Answered, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"only failures end, and so did the question",
			assess.Witnesses{assess.OnlyFailures, false, assess.Failed, assess.SaysReady},
			assess.Failing, assess.Fail,
			assess.Fail,
		},
		{
			"only failures of one entry end, another serves",
			assess.Witnesses{assess.OnlyFailures, acquitted, assess.NotAsked, assess.SaysReady},
			assess.Ready,
			assess.Pass, assess.Pass,
		},
		{
			"the question failed, and another entry serves",
			assess.Witnesses{assess.OnlyFailures, acquitted, assess.Failed, assess.SaysReady},
			assess.Ready,
			assess.Pass, assess.Pass,
		},
		{
			"a part only fails, and nobody knows how requests end",
			assess.Witnesses{assess.PartFails, false, assess.NotAsked, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"a part only fails, and it answers",
			assess.Witnesses{assess.PartFails, false, assess.Answered, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"a part only fails, and so did the question",
			assess.Witnesses{assess.PartFails, false, assess.Failed, assess.SaysReady},
			assess.Failing, assess.Fail,
			assess.Fail,
		},
		{
			"only failures end, and a file says that they are failures",
			assess.Witnesses{assess.DeclaredFails, false, assess.NotAsked, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"only failures end, a file says that they are failures, and so did the question",
			assess.Witnesses{assess.DeclaredFails, false, assess.Failed, assess.SaysReady},
			assess.Failing, assess.Fail,
			assess.Fail,
		},
		{
			"nothing moves",
			assess.Witnesses{assess.NothingMoves, false, assess.NotAsked, assess.SaysReady},
			assess.Ready, assess.Pass, assess.Pass,
		},
		{
			"nothing moves, and it answers",
			assess.Witnesses{assess.NothingMoves, false, assess.Answered, assess.SaysReady},
			assess.Ready, assess.Pass,
			assess.Pass,
		},
		{
			"nothing moves, and it does not answer",
			assess.Witnesses{assess.NothingMoves, false, assess.Failed, assess.SaysReady},
			assess.Stalled, assess.Fail,
			assess.Fail,
		},
		{
			"nothing moves, it shows no steps, and one question got no word",
			assess.Witnesses{assess.NothingMoves, false, assess.Unheard, assess.SaysReady},
			assess.Stalled, assess.Fail,
			assess.Pass,
		},
		{
			"nothing moves, it shows no steps, one question got no word, and it admits that it is not ready",
			assess.Witnesses{assess.NothingMoves, false, assess.Unheard, assess.AdmitsFailure},
			assess.Stalled, assess.Fail,
			assess.Fail,
		},
		{
			"nothing moves, and it admits that it is not ready",
			assess.Witnesses{assess.NothingMoves, false, assess.NotAsked, assess.AdmitsFailure},
			assess.Stalled,
			assess.Fail, assess.Fail,
		},
		{
			"only failures end, as it admits",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.AdmitsFailure},
			assess.Failing,
			assess.Fail, assess.Fail,
		},
		{
			"the page does not come, and it admits that it is not ready",
			assess.Witnesses{assess.NoPage, false, assess.NotAsked, assess.AdmitsFailure},
			assess.NotReady, assess.Fail,
			assess.Fail,
		},
		{
			"it admits that it is not ready, and answers a question",
			assess.Witnesses{assess.NothingMoves, false, assess.Answered, assess.AdmitsFailure},
			assess.NotReady,
			assess.Fail, assess.Pass,
		},
		{
			"it has said for long that it is not ready, and nothing else",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.AdmitsFailure},
			assess.NotReady,
			assess.Fail, assess.Pass,
		},
		{
			"nothing moves, it is not ready for a moment",
			assess.Witnesses{assess.NothingMoves, false, assess.NotAsked, assess.SaysNotReady},
			assess.NotReady,
			assess.Fail, assess.Pass,
		},
		{
			"paused, nothing moves and no question is answered",
			assess.Witnesses{assess.NothingMoves, false, assess.Failed, assess.SaysUnserved},
			assess.Unserved,
			assess.Fail, assess.Pass,
		},
		{
			"only failures end, and it is not ready for a moment",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysNotReady},
			assess.Failing,
			assess.Fail, assess.Pass,
		},
		{
			"only failures end, it is not ready, and others are served",
			assess.Witnesses{assess.OnlyFailures, acquitted, assess.NotAsked, assess.SaysNotReady},
			assess.NotReady,
			assess.Fail, assess.Pass,
		},
		{
			"a router without workers",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.SaysNoWorkers},
			assess.NotReady, assess.Fail, assess.Pass,
		},
		{
			"a router that says it has no worker, and serves",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.SaysNoWorkersWrongly},
			assess.Ready, assess.Pass, assess.Pass,
		},
		{
			"a worker that says it is not ready, and serves",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.SaysNotReadyWrongly},
			assess.Ready, assess.Pass, assess.Pass,
		},
		{
			"an API that cannot be reached, while requests end that came since",
			assess.Witnesses{assess.Nothing, false, assess.NotAsked, assess.SaysClosedWrongly},
			assess.Ready, assess.Pass, assess.Pass,
		},
		{
			"a router that says it has no worker and served, whose requests all fail",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysNoWorkersWrongly},
			assess.Failing, assess.Fail, assess.Pass,
		},
		{
			"a router without workers, whose requests all fail",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysNoWorkers},
			assess.Failing,
			assess.Fail, assess.Pass,
		},
		{
			"a router without workers, whose requests all fail, and so did the question",
			assess.Witnesses{assess.OnlyFailures, false, assess.Failed, assess.SaysNoWorkers},
			assess.Failing,
			assess.Fail, assess.Pass,
		},
		{
			"a router without workers, nothing moves",
			assess.Witnesses{assess.NothingMoves, false, assess.NotAsked, assess.SaysNoWorkers},
			assess.NotReady,
			assess.Fail, assess.Pass,
		},
		{
			"draining, with requests that fail",
			assess.Witnesses{assess.OnlyFailures, false, assess.NotAsked, assess.SaysDraining},
			assess.Draining,
			assess.Fail, assess.Pass,
		},
		{
			"starting",
			assess.Witnesses{assess.NoPage, false, assess.NotAsked, assess.SaysStarting},
			assess.Starting,
			assess.Fail, assess.Pass,
		},
		{
			"the page does not come, the API answers",
			assess.Witnesses{assess.NoPage, false, assess.NotAsked, assess.SaysReady},
			assess.Blind, assess.Keep,
			assess.Keep,
		},
		{
			"the page does not come, the canary waits behind others",
			assess.Witnesses{assess.NoPage, acquitted, assess.FailedTwice, assess.SaysReady},
			assess.Blind, assess.Keep,
			assess.Keep,
		},
		{
			"the page does not come, and no canary is answered",
			assess.Witnesses{assess.NoPage, false, assess.FailedTwice, assess.SaysNothing},
			assess.CanaryFailing,
			assess.Fail, assess.Keep,
		},
		{
			"one scrape was refused",
			assess.Witnesses{assess.RefusedOnce, false, assess.NotAsked, assess.SaysNothing},
			assess.Down, assess.Keep, assess.Keep,
		},
		{
			"two were",
			assess.Witnesses{assess.Refusal, false, assess.NotAsked, assess.SaysNothing},
			assess.Down,
			assess.Fail, assess.Pass,
		},
		{
			"neither page nor API answered, once",
			assess.Witnesses{assess.SilentOnce, false, assess.NotAsked, assess.SaysNothing},
			assess.Blind, assess.Keep,
			assess.Keep,
		},
		{
			"nor the next time",
			assess.Witnesses{assess.Silence, false, assess.NotAsked, assess.SaysNothing},
			assess.Down, assess.Fail, assess.Keep,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := assess.Decide(c.witnesses)
			require.Equal(t, c.state, r.StateFor(c.witnesses.Accusation))
			require.Equal(t, c.ready, r.Ready, "ready")
			require.Equal(t, c.live, r.Live, "live")
		})
	}
}

// TestEveryCombinationOfWitnesses checks what must never happen, whatever comes together.
func TestEveryCombinationOfWitnesses(t *testing.T) {
	broken := assess.Severities()
	for w := range allWitnesses() {
		r := assess.Decide(w)
		state := r.StateFor(w.Accusation)
		what := fmt.Sprintf("%+v: %s", w, state)
		proven := w.Question == assess.Failed || w.Question == assess.FailedTwice || w.Word == assess.AdmitsFailure
		require.True(t, r.Live != assess.Fail || proven && !w.Acquitted, "live is 503 on one sign: %s", what)
		require.True(
			t, r.Live != assess.Fail || w.Accusation != assess.Nothing, "live is 503 without an accusation: %s", what,
		)
		told := w.Word.Denies()
		counted := w.Accusation == assess.Nothing || w.Accusation == assess.OnlyFailures ||
			w.Accusation == assess.NothingMoves
		if w.Acquitted && counted && !told {
			require.NotEqual(t, assess.Broken, broken[state], "broken while requests of others end well: %s", what)
			require.Equal(t, assess.Pass, r.Ready, what)
		}
		wrongly := slices.Contains(
			[]assess.Word{
				assess.SaysNoWorkersWrongly, assess.SaysUnservedWrongly, assess.SaysClosedWrongly,
				assess.SaysNotReadyWrongly,
			},
			w.Word,
		)
		if wrongly && w.Accusation == assess.NothingMoves {
			continue // Nothing shows any more that it serves.
		}
		if told && w.Accusation == assess.NothingMoves {
			require.NotEqual(t, assess.Pass, r.Ready, "ready against its own word: %s", what)
		}
		if w.Accusation == assess.NothingMoves && !told && w.Question != assess.Answered {
			require.True(t, r.Suspected || r.Ready == assess.Fail || w.Acquitted, "a hang is not seen: %s", what)
		}
		require.True(t, !r.Suspected || r.Look, what)
	}
}

// allWitnesses returns all combinations.
func allWitnesses() func(func(assess.Witnesses) bool) {
	return func(yield func(assess.Witnesses) bool) {
		for _, a := range assess.AllAccusations() {
			for _, q := range assess.AllAnswers() {
				for _, word := range assess.AllWords() {
					for _, acquitted := range []bool{false, true} {
						if !yield(assess.Witnesses{a, acquitted, q, word}) {
							return
						}
					}
				}
			}
		}
	}
}

// TestDocumentedRulings compares the table of the documentation with that of the code.
func TestDocumentedRulings(t *testing.T) {
	text, err := os.ReadFile("../../docs/concepts.md")
	require.NoError(t, err)
	if !strings.Contains(string(text), assess.RulingsTable()) {
		require.Fail(t, "docs/concepts.md has another table", "write:\n%s", assess.RulingsTable())
	}
}
