package derive_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// rankedVLLM is a vLLM whose ranks each generate ten tokens, and end a request of two seconds, from page to page.
type rankedVLLM map[string]int

// page counts for the ranks that are given, and returns the page with those of them that it shows.
func (v rankedVLLM) page(all, shown []string) (lines []string) {
	for _, rank := range all {
		v[rank]++
		v["answered"]++
	}
	for _, rank := range shown {
		n, l := v[rank], fmt.Sprintf(`engine=%q,model_name="m"`, rank)
		lines = append(
			lines,
			fmt.Sprintf(`vllm:num_requests_running{%s} 1`, l),
			fmt.Sprintf(`vllm:generation_tokens_total{%s} %d`, l, 10*n),
			fmt.Sprintf(`vllm:request_success_total{%s,finished_reason="stop"} %d`, l, n),
		)
		lines = append(lines, histogram("vllm:e2e_request_latency_seconds", l, 2*n, "1.0 +Inf", 0, n)...)
	}
	return append(lines, fmt.Sprintf(
		`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, 1000+v["answered"],
	))
}

// TestSumsOfRanksNeverFall removes a rank from the page of a process that goes on, as a scale-down does or an agent
// that merges pages and misses one, and lets it come back: as it was, or from zero.
func TestSumsOfRanksNeverFall(t *testing.T) {
	both, left := []string{"0", "1"}, []string{"0"}
	for _, c := range []struct {
		name string
		// Without shows only the first rank on some pages. Meanwhile the other one works on, and begins again if so.
		goesOn, again bool
		returns       bool
		want          float64
	}{
		{"for good", false, false, false, 600 + 10*(4+8)},
		{"for some pages, while it works", true, false, true, 600 + 10*(8+8)},
		{"for some pages, and begins again", true, true, true, 600 + 10*(4+4+8)},
	} {
		b, v := newBench(t, engine.VLLM, "m"), rankedVLLM{"0": 20, "1": 40}
		var all []values
		for n := range 8 {
			works, shown := both, both
			if n >= 4 && !c.goesOn {
				works = left
			}
			if n >= 4 && (!c.returns || n < 6) {
				shown = left
			}
			if n == 4 && c.again {
				v["1"] = 0
			}
			all = append(all, b.page(v.page(works, shown)...))
		}
		const tokens, seconds = `generation_tokens_total{model_id="m"}`, `request_duration_seconds_sum{model_id="m"}`
		require.Equal(t, c.want, all[7].get(t, tokens), c.name)
		require.Equal(t, c.want/10*2, all[7].get(t, seconds), c.name)
		require.Equal(t, c.want/10, all[7].get(t, `requests_total{class="ok", model_id="m"}`), c.name)
		for _, series := range []string{tokens, seconds, `requests_total{class="ok", model_id="m"}`} {
			grows := func(a, b values) int {
				if b.get(t, series) > a.get(t, series) {
					return -1
				}
				return 1
			}
			require.True(t, slices.IsSortedFunc(all, grows), "%s: %s", c.name, series)
		}
		rate := all[7].get(t, `generation_tokens_per_second{model_id="m"}`)
		require.LessOrEqual(t, rate, 4.01, c.name)
		require.Positive(t, rate, c.name)
	}
}

// TestSumsOfRanksBeginAgain has a vLLM one of whose ranks begins again, one all of whose ranks do, and one that
// restarts.
func TestSumsOfRanksBeginAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		v    rankedVLLM
		lost bool
		want float64
	}{
		{"one rank", rankedVLLM{"0": 24, "1": 0}, false, 680 + 20*10},
		{"all ranks", rankedVLLM{"0": 0, "1": 0}, false, 10 * 10 * 2},
		{"the process", rankedVLLM{"0": 24, "1": 0}, true, 240 + 20*10},
	} {
		b, v := newBench(t, engine.VLLM, "m"), rankedVLLM{"0": 20, "1": 40}
		both := []string{"0", "1"}
		for range 4 {
			b.page(v.page(both, both)...)
		}
		v["0"], v["1"] = c.v["0"], c.v["1"]
		if c.lost {
			b.connection = derive.Reopened
		}
		var got values
		for range 10 {
			got = b.page(v.page(both, both)...)
		}
		require.Equal(t, c.want, got.get(t, `generation_tokens_total{model_id="m"}`), c.name)
	}
}

// TestSumsOfRanksOnOldPages has a cache that answers with an older page now and then, of fewer ranks or of all.
func TestSumsOfRanksOnOldPages(t *testing.T) {
	for _, shown := range [][]string{{"0", "1"}, {"0"}} {
		b, v := newBench(t, engine.VLLM, "m"), rankedVLLM{"0": 20, "1": 40}
		both := []string{"0", "1"}
		var old []string
		for n := range 12 {
			page := v.page(both, both)
			if n == 6 || n == 9 {
				b.age = 15 * time.Second
				b.page(old...)
				continue
			}
			if n == 4 {
				old = v.page(nil, shown)
			}
			b.page(page...)
		}
		got := b.page(v.page(both, both)...)
		require.Equal(t, 600.+13*20, got.get(t, `generation_tokens_total{model_id="m"}`), "%s", shown)
	}
}

// TestSumsOfRanksByChance has pages on which each rank but the first may be missing, and of which one begins again. The
// sum is what the pages have shown of each.
func TestSumsOfRanksByChance(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(7, seed))
		b, counts, shown, before := newBench(t, engine.VLLM, "m"), make([]int, 4), make([]int, 4), 0
		for rank := range counts {
			counts[rank] = r.IntN(1000)
		}
		again, at := 1+r.IntN(3), r.IntN(20)
		for n := range 20 {
			page := []string{`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 1`}
			if n == at {
				counts[again] = 0
			}
			for rank := range counts {
				counts[rank] += r.IntN(50)
				if rank > 0 && r.IntN(3) == 0 {
					continue
				}
				if counts[rank] < shown[rank] {
					before += shown[rank]
				}
				shown[rank] = counts[rank]
				page = append(page, fmt.Sprintf(`vllm:generation_tokens_total{engine="%d",model_name="m"} %d`, rank, counts[rank]))
			}
			want := before
			for _, n := range shown {
				want += n
			}
			got, exposed := b.page(page...)[`generation_tokens_total{model_id="m"}`]
			if b.deriver.Processes() > 0 {
				break // A rank that is missing on the page after it began again looks like one of another process.
			}
			if exposed {
				require.InDelta(t, float64(want), got, 0, "seed %d, page %d", seed, n)
			}
		}
	}
}
