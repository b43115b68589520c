package derive_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// The counters of the property's server.
const (
	success = iota
	failure
	microseconds
	generated
	prompted
	iterations
	counters
)

// history records the true values of a server's counters, page by page.
type history struct {
	times  []time.Duration
	values [][counters]float64
	// spanStart is the page from which each counter has had no reset and no gap.
	spanStart [counters]int
}

// possible reports whether a rate is the joint rate of some counters between two pages of the
// window: it is neither negative nor more than the counters can have grown.
func (h *history) possible(rate float64, indexes ...int) bool {
	first, last := 0, len(h.times)-1
	for _, c := range indexes {
		first = max(first, h.spanStart[c])
	}
	for from := first; from < last; from++ {
		if h.times[last]-h.times[from] > time.Minute {
			continue
		}
		grown := 0.0
		for _, c := range indexes {
			grown += h.values[last][c] - h.values[from][c]
		}
		if want := grown / (h.times[last] - h.times[from]).Seconds(); math.Abs(rate-want) <= 1e-9*math.Max(1, want) {
			return true
		}
	}
	return false
}

// pageOf returns a Triton page with the counters.
func pageOf(v [counters]float64) string {
	const l = `{model="m",version="1"}`
	var b strings.Builder
	fmt.Fprintf(&b, "nv_inference_request_success%s %.0f\n", l, v[success])
	fmt.Fprintf(&b, "nv_inference_request_failure{model=\"m\",reason=\"BACKEND\",version=\"1\"} %.0f\n", v[failure])
	fmt.Fprintf(&b, "nv_inference_request_duration_us%s %.0f\n", l, v[microseconds])
	fmt.Fprintf(&b, "nv_llm_output_token_len_sum%s %.0f\n", l, v[generated])
	fmt.Fprintf(&b, "nv_llm_input_token_len_sum%s %.0f\n", l, v[prompted])
	fmt.Fprintf(
		&b,
		"nv_trt_llm_general_metrics{general_type=\"iteration_counter\",model=\"m\",version=\"1\"} %.0f\n",
		v[iterations],
	)
	return b.String()
}

// checkHistory plays moves of three bytes: what happens, how long after the page
// before, and by how much counters grow.
func checkHistory(t *testing.T, moves []byte) {
	t.Helper()
	b := newBench(t, engine.Triton, "m")
	h := &history{}
	var v [counters]float64
	now := time.Duration(0)
	for ; len(moves) >= 3; moves = moves[3:] {
		what, after, grow := moves[0]%16, moves[1], float64(moves[2])
		step := time.Duration(1+after%12) * time.Second
		for c := range v {
			v[c] += math.Floor(grow * float64(1+c*c) * (0.5 + float64((int(after)+c)%7)/7))
		}
		reset := [counters]bool{}
		// A reset is visible only if the counter is lower than before.
		again := func(c int, divisor float64) {
			if len(h.times) > 0 && h.values[len(h.times)-1][c] > 1 {
				reset[c], v[c] = true, math.Floor(h.values[len(h.times)-1][c]/divisor)
			}
		}
		switch what {
		case 0: // The server restarts.
			for c := range v {
				again(c, float64(after)+2)
			}
		case 1, 2: // One counter resets, as at a reload.
			again(int(after)%counters, 3)
		case 3: // Pages are missed.
			step += 40 * time.Second
		case 4: // A page arrives late, after a newer one.
			if now == 0 {
				continue // The first page has no predecessor.
			}
			b.now = now - time.Duration(after)*time.Second
			before := v
			for c := range before {
				before[c] = math.Floor(before[c] / 2)
			}
			got := b.page(pageOf(before))
			checkRates(t, h, got)
			continue
		case 5: // The page cannot be read: the counters are missing.
			now += step
			b.now = now
			got := b.page("nv_cpu_utilization 0.5")
			require.Empty(t, ratesOf(got))
			*h = history{}
			continue
		}
		now += step
		gap := len(h.times) > 0 && step > 12500*time.Millisecond
		h.times, h.values = append(h.times, now), append(h.values, v)
		for c := range v {
			if reset[c] || gap {
				h.spanStart[c] = len(h.times) - 1
			}
		}
		b.now = now
		checkRates(t, h, b.page(pageOf(v)))
	}
}

// ratesOf returns the values that need two pages.
func ratesOf(got map[string]float64) []string {
	var names []string
	for series := range got {
		for _, part := range []string{"_per_second", "_average", "_error_ratio", "_compute_ratio", "_estimate"} {
			if strings.Contains(series, part) {
				names = append(names, series)
			}
		}
	}
	return names
}

// checkRates compares the rates of a page with what really happened.
func checkRates(t *testing.T, h *history, got map[string]float64) {
	t.Helper()
	for series, indexes := range map[string][]int{
		`generation_tokens_per_second{model_id="m"}`: {generated},
		`prompt_tokens_per_second{model_id="m"}`:     {prompted},
		`engine_iterations_per_second{model_id="m"}`: {iterations},
		`requests_per_second{model_id="m"}`:          {success, failure},
	} {
		if rate, ok := got[series]; ok {
			require.GreaterOrEqual(t, rate, 0.0, series)
			require.True(t, h.possible(rate, indexes...), "%s is %v, which is no rate between two pages", series, rate)
		}
	}
	for _, series := range ratesOf(got) {
		require.GreaterOrEqual(t, got[series], 0.0, series)
		require.False(t, math.IsNaN(got[series]) || math.IsInf(got[series], 0), series)
		if strings.Contains(series, "_error_ratio") {
			require.LessOrEqual(t, got[series], 1.0, series)
		}
	}
}

func TestRatesUseWholeSpans(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 11))
	for range 150 {
		checkHistory(t, randomMoves(rng))
	}
}

// randomMoves returns a history of up to 61 pages, of three bytes each.
func randomMoves(rng *rand.Rand) []byte {
	moves := make([]byte, 3*(2+rng.IntN(60)))
	for i := range moves {
		moves[i] = byte(rng.IntN(256))
	}
	return moves
}

func FuzzRatesUseWholeSpans(f *testing.F) {
	for interruption := range byte(6) {
		f.Add([]byte{9, 5, 10, 9, 5, 10, interruption, 5, 10, 9, 5, 10, 9, 5, 10})
	}
	f.Add([]byte{9, 5, 10, 9, 5, 10, 0, 5, 10, 9, 5, 10, 4, 200, 3, 9, 5, 10})
	f.Add([]byte{9, 5, 10, 3, 5, 10, 5, 5, 10, 9, 5, 10, 1, 2, 3, 9, 5, 10})
	f.Fuzz(func(t *testing.T, moves []byte) {
		if len(moves) > 600 {
			t.Skip("long enough is long enough")
		}
		checkHistory(t, moves)
	})
}
