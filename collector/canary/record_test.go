package canary_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// ordered returns a record with an order.
func ordered(key string) *canary.Record {
	r := &canary.Record{}
	r.Order(order(key))
	return r
}

// order returns an order that is ready to be sent.
func order(key string) *canary.Order {
	return &canary.Order{Question: canary.Question{Model: "llm"}, ModelID: "llama", Key: key, Group: "g"}
}

// answered returns the report of a successful request.
func answered(output string) canary.Report {
	return canary.Report{
		Result: canary.OK, Output: output, At: time.Now(), FirstToken: time.Second, Duration: 3 * time.Second,
		Tail: 500 * time.Millisecond, LongestGap: 250 * time.Millisecond, Frames: 2, Tokens: 8,
	}
}

// stall returns the report of a stalled request.
func stall() canary.Report {
	return canary.Report{Result: canary.Stalled, Reason: "no text", At: time.Now()}
}

// rows returns the series of a record as lines.
func rows(r *canary.Record) []string {
	var all []string
	r.Series(func(family, modelID, result string, v float64) {
		all = append(all, fmt.Sprintf("%s{%s,%s} %v", family, modelID, result, v))
	})
	return all
}

func TestDueRequestIsSentOnce(t *testing.T) {
	r := &canary.Record{}
	r.Due()
	require.Nil(t, r.Next(), "there is no order")
	held := order("a")
	held.Hold = "the replica is down"
	r.Order(held)
	require.Nil(t, r.Next())
	may := order("a")
	r.Order(may)
	require.Same(t, may, r.Next(), "as soon as it may be")
	require.Nil(t, r.Next(), "once")
}

func TestDifferentOutputNeedsConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ordered("v1")
		require.True(t, r.Take(answered("a"), time.Minute), "the first answer waits for nothing")
		_, _, waits := r.Unconfirmed()
		require.False(t, waits, "the first answer waits for nothing")
		require.False(t, r.Take(answered("b"), time.Minute), "another output waits for its confirmation")
		since, until, waits := r.Unconfirmed()
		require.True(t, waits, "another output waits for its confirmation")
		require.Equal(t, time.Now(), since)
		require.Equal(t, time.Now().Add(time.Minute), until)
		r.Due()
		require.Nil(t, r.Next(), "nothing is sent meanwhile")
		r.Order(order("v2"))
		r.Confirm()
		require.Zero(t, r.Last().Changes, "it is of another version")
		require.Equal(t, 1, r.Last().Answers())
		require.NotNil(t, r.Next())
		require.True(t, r.Take(stall(), time.Minute), "a failure is not an answer")
	})
}

func TestHistorySeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &canary.Record{}
		require.Empty(t, rows(r))
		require.Empty(t, failing(r))
		r.Order(order("v1"))
		require.Equal(t, []string{"canary_active{,} 1"}, rows(r))
		require.Equal(t, &target.Canary{Model: "llm"}, r.Status())
		require.Empty(t, failing(r))

		r.Take(answered("a"), time.Minute)
		first := time.Now()
		require.Equal(t, &target.Canary{Model: "llm", Result: "ok", At: first, Group: "g", Output: "a"}, r.Status())
		time.Sleep(time.Second)
		r.Take(answered("a"), time.Minute)
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{
			"canary_active{,} 1",
			"canary_success{llama,} 1", "canary_requests_total{llama,ok} 2", "canary_age_seconds{llama,} 2",
			"canary_time_to_first_token_seconds{llama,} 1",
			"canary_duration_seconds{llama,} 3", "canary_inter_token_latency_max_seconds{llama,} 0.25",
			"canary_tail_seconds{llama,} 0.5",
			"canary_tokens{llama,} 8", "canary_output_changes_total{llama,} 0", "canary_deterministic{llama,} 1",
		}, rows(r))

		r.Take(stall(), time.Minute)
		require.Equal(t, []string{
			"canary_active{,} 1",
			"canary_success{llama,} 0", "canary_requests_total{llama,ok} 2", "canary_requests_total{llama,stalled} 1",
			"canary_age_seconds{llama,} 0", "canary_output_changes_total{llama,} 0",
		}, rows(r), "a request that failed has no times")
		require.Equal(t, "the canary request failed (stalled): no text", failing(r))
		require.Equal(t, &target.Canary{Model: "llm", Result: "stalled", Reason: "no text", At: time.Now()}, r.Status())

		held := order("v1")
		held.Hold = "the replica is down"
		r.Order(held)
		require.Equal(t, []string{
			"canary_active{,} 0",
			"canary_requests_total{llama,ok} 2",
			"canary_requests_total{llama,stalled} 1",
			"canary_age_seconds{llama,} 0", "canary_output_changes_total{llama,} 0",
		}, rows(r), "nor one of before it was left alone")
		require.Empty(t, failing(r))
		require.Equal(t, "the replica is down", r.Status().Hold)
	})
}

func TestMinimumFramesAndAnswers(t *testing.T) {
	r := ordered("v1")
	one := answered("a")
	one.Frames = 1
	r.Take(one, time.Minute)
	for _, row := range rows(r) {
		require.NotContains(t, row, "inter_token")
		require.NotContains(t, row, "deterministic")
	}
}

func TestLateAnswerBelongsToServerAsked(t *testing.T) {
	var r canary.Record
	r.Order(&canary.Order{Key: "old", Group: "old"})
	r.Due()
	require.NotNil(t, r.Next())
	r.Order(&canary.Order{Key: "new", Group: "new"}) // While the request was under way.
	require.True(t, r.Take(canary.Report{Result: canary.OK, Output: "A"}, time.Second), "the answer waits for nothing")
	require.Empty(t, r.Status().Group)
	require.Empty(t, r.Status().Output, "it is not compared with what others of the new one's group answer")

	r.Due()
	require.NotNil(t, r.Next())
	if !r.Take(canary.Report{Result: canary.OK, Output: "B"}, time.Second) {
		r.Confirm()
	}
	require.Zero(t, r.Last().Changes, "the first answer was another server's")
	require.Equal(t, "B", r.Status().Output)
}

// failing returns how the last request failed.
func failing(r *canary.Record) string {
	failed, _, _ := r.Failing()
	return failed
}

func TestTwoFailuresInARow(t *testing.T) {
	const others, restart = "others", "restart"
	for name, c := range map[string]struct {
		// results are those of requests, or what happens between two.
		results []canary.Result
		twice   bool
	}{
		"one error": {[]canary.Result{canary.OK, canary.HTTPError}, false},
		"one hang":  {[]canary.Result{canary.OK, canary.NoFirstToken}, false},
		"two errors": {
			[]canary.Result{canary.OK, canary.HTTPError, canary.ErrorFrame},
			true,
		},
		"two hangs": {
			[]canary.Result{canary.OK, canary.NoFirstToken, canary.Stalled},
			true,
		},
		"a request that never succeeded": {
			[]canary.Result{canary.HTTPError, canary.HTTPError, canary.HTTPError},
			false,
		},
		"an error after a good answer": {
			[]canary.Result{canary.HTTPError, canary.OK, canary.HTTPError},
			false,
		},
		"no capacity, twice":                 {[]canary.Result{canary.OK, canary.Overload, canary.Overload}, true},
		"refused though it succeeded before": {[]canary.Result{canary.OK, canary.Refused, canary.Refused}, true},
		"refused once":                       {[]canary.Result{canary.OK, canary.Refused}, false},
		"refused, and then a hang":           {[]canary.Result{canary.OK, canary.Refused, canary.Stalled}, true},
		"no stream any more":                 {[]canary.Result{canary.OK, canary.Malformed, canary.Malformed}, true},
		"the model takes no text any more": {
			[]canary.Result{canary.OK, canary.Unsupported, canary.Unsupported},
			false,
		},
		"refused while others are served": {
			[]canary.Result{canary.OK, canary.Refused, others, canary.Refused},
			false,
		},
		"refused twice, and others are served": {
			[]canary.Result{canary.OK, canary.Refused, canary.Refused, others},
			false,
		},
		"refused by another process": {
			[]canary.Result{canary.OK, restart, canary.Refused, canary.Refused},
			false,
		},
		"refused from the beginning, then answered, then refused once": {
			[]canary.Result{canary.Refused, canary.Refused, canary.OK, canary.Refused},
			false,
		},
		"always refused":                  {[]canary.Result{canary.Refused, canary.Refused}, false},
		"answers that exceed the timeout": {[]canary.Result{canary.OK, canary.Timeout, canary.Timeout}, false},
		"answers without text":            {[]canary.Result{canary.OK, canary.Empty, canary.Empty}, false},
		"others were served in between": {
			[]canary.Result{canary.OK, canary.HTTPError, others, canary.HTTPError},
			false,
		},
		"others were served before both": {
			[]canary.Result{canary.OK, canary.HTTPError, others, canary.HTTPError, canary.HTTPError},
			true,
		},
		"others were served after two, so that it is wrong itself": {
			[]canary.Result{canary.OK, canary.HTTPError, canary.HTTPError, others, canary.HTTPError, canary.HTTPError},
			false,
		},
		"it succeeded again since": {
			[]canary.Result{
				canary.OK, canary.HTTPError, canary.HTTPError, others, canary.OK, canary.HTTPError, canary.HTTPError,
			},
			true,
		},
		"the process that answered has ended": {
			[]canary.Result{canary.OK, restart, canary.HTTPError, canary.HTTPError},
			false,
		},
		"the new process answered, then failed": {
			[]canary.Result{restart, canary.OK, canary.HTTPError, canary.HTTPError},
			true,
		},
		"it failed twice, and the process ended": {
			[]canary.Result{canary.OK, canary.HTTPError, canary.HTTPError, restart},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r canary.Record
			r.Order(&canary.Order{Key: "a"})
			for _, result := range c.results {
				switch result {
				case others:
					r.Acquit()
				case restart:
					r.NewProcess()
				default:
					r.Take(canary.Report{Result: result}, time.Second)
				}
			}
			_, _, twice := r.Failing()
			require.Equal(t, c.twice, twice)
		})
	}
}

// TestWhoMayNotAskFailsNobody has a canary that asks more often than it may, or whose credentials expire, or whose model
// somebody takes away.
func TestWhoMayNotAskFailsNobody(t *testing.T) {
	for want, report := range map[string]canary.Report{
		"overload": {Result: canary.Overload, Quota: true},
		"refused":  {Result: canary.Refused, Barred: true},
	} {
		var r canary.Record
		r.Order(&canary.Order{Key: "a"})
		r.Take(canary.Report{Result: canary.OK}, time.Second)
		for range 2 {
			r.Take(report, time.Second)
		}
		failed, late, twice := r.Failing()
		require.Contains(t, failed, want)
		require.Equal(t, report.Quota, late, "no capacity for it: %s", failed)
		require.False(t, twice, "the server failed twice: %s", failed)
	}
}

func TestFirstFailureIsCheckedAtOnce(t *testing.T) {
	var r canary.Record
	r.Order(&canary.Order{Key: "a"})
	for _, c := range []struct {
		result canary.Result
		again  bool
	}{
		{canary.OK, false},
		{canary.HTTPError, true},
		{canary.HTTPError, false},
		{canary.OK, false},
		{canary.NoFirstToken, true},
	} {
		r.Take(canary.Report{Result: c.result}, time.Second)
		require.Equal(t, c.again, r.Next() != nil, c.result)
	}
}

// TestCheckOfFailureIsNotChecked has others that are served between all requests of the canary.
func TestCheckOfFailureIsNotChecked(t *testing.T) {
	var r canary.Record
	r.Order(&canary.Order{Key: "a"})
	sent := 0
	for range 4 {
		r.Due()
		for r.Next() != nil {
			sent++
			r.Take(canary.Report{Result: canary.HTTPError}, time.Second)
			r.Acquit()
			require.LessOrEqual(t, sent, 8)
		}
	}
	require.Equal(t, 8, sent, "each failed one is checked once")
}

func TestHistoryEndsWithServer(t *testing.T) {
	var r canary.Record
	order := &canary.Order{Key: "a"}
	r.Order(order)
	r.Due()
	require.NotNil(t, r.Next())
	slow := canary.Report{Result: canary.Timeout, Reason: "slow"}
	require.True(t, r.Take(slow, time.Second), "a timeout waits for nothing")
	require.NotEmpty(t, failing(&r))

	r.Forget()
	r.Due()
	require.Nil(t, r.Next(), "nothing is known yet of what it may be asked")
	r.Order(order)
	require.Empty(t, failing(&r))
	require.Empty(t, r.Status().Result)
	require.Equal(t, uint64(1), r.Last().Counts[canary.Timeout], "what was counted stays")
	require.Equal(t, []string{"canary_active{,} 1"}, rows(&r), "nothing was asked of the one that is there")
	held := *order
	held.Hold = "it drains"
	r.Order(&held)
	require.Equal(t, []string{"canary_active{,} 0"}, rows(&r))
	r.Order(order)
	require.NotNil(t, r.Next())
	require.True(t, r.Take(slow, time.Second), "a timeout waits for nothing")
	require.Contains(t, rows(&r), "canary_requests_total{,timeout} 2")
}
