package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// served counts the work of a model version since the previous page.
type served struct {
	version          string
	ok, failed       int
	duration, tokens int
}

// versions is a Triton with versions of one model side by side.
type versions struct {
	*bench

	sum map[string]served
}

func newVersions(t *testing.T, decoupled bool) *versions {
	t.Helper()
	backend := map[bool]string{true: "python", false: "onnxruntime"}[decoupled]
	return &versions{
		newBench(t, engine.Triton).facts(configured("llm", backend, decoupled)).release("2.51.0"),
		make(map[string]served),
	}
}

// serve returns a page after each version did some more. Times waver by a tenth from
// one page to the next.
func (v *versions) serve(page int, each ...served) values {
	var lines []string
	for _, s := range each {
		duration := s.duration * s.ok * (95 + page%3*5) / 100
		all := v.sum[s.version]
		all.ok, all.failed, all.duration, all.tokens = all.ok+s.ok, all.failed+s.failed, all.duration+duration, all.tokens+s.tokens
		v.sum[s.version] = all
		modelLabels := fmt.Sprintf(`model="llm",version=%q`, s.version)
		lines = append(lines,
			fmt.Sprintf(`nv_inference_request_success{%s} %d`, modelLabels, all.ok),
			fmt.Sprintf(`nv_inference_request_failure{%s,reason="BACKEND"} %d`, modelLabels, all.failed),
			fmt.Sprintf(`nv_inference_request_duration_us{%s} %d`, modelLabels, all.duration*1000),
			fmt.Sprintf(`nv_llm_output_token_len_sum{%s} %d`, modelLabels, all.tokens),
			fmt.Sprintf(`nv_llm_output_token_len_count{%s} %d`, modelLabels, all.ok),
		)
	}
	return v.page(lines...)
}

// differs returns the bounds of a difference of two versions.
func (v values) differs(t *testing.T, family, version, than string) (lower, upper float64) {
	t.Helper()
	series := func(bound string) float64 {
		return v.get(
			t,
			fmt.Sprintf(`%s{bound=%q, model="llm", model_id="llm", than=%q, version=%q}`, family, bound, than, version),
		)
	}
	return series("lower"), series("upper")
}

// worse returns the value of a series version_worse.
func (v values) worse(t *testing.T, by, version, than string) float64 {
	t.Helper()
	return v.get(
		t,
		fmt.Sprintf(`version_worse{by=%q, model="llm", model_id="llm", than=%q, version=%q}`, by, than, version),
	)
}

func TestCompareVersionsByErrors(t *testing.T) {
	for _, c := range []struct {
		name         string
		older, newer int
		worse        float64
		above, below bool
	}{
		{"the newer one fails much more", 1, 20, 1, true, false},
		{"the older one fails much more", 20, 1, 0, false, true},
		{"both fail as much", 5, 5, 0, false, false},
		{"neither fails", 0, 0, 0, false, false},
		{"a little more may be chance", 3, 4, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVersions(t, false)
			v.serve(0, served{"1", 100, c.older, 1000, 900}, served{"2", 100, c.newer, 1000, 900})
			got := v.serve(1, served{"1", 100, c.older, 1000, 900}, served{"2", 100, c.newer, 1000, 900})
			lower, upper := got.differs(t, "version_error_ratio_difference", "2", "1")
			truth := float64(c.newer)/float64(100+c.newer) - float64(c.older)/float64(100+c.older)
			require.LessOrEqual(t, lower, truth)
			require.GreaterOrEqual(t, upper, truth)
			require.Equal(t, c.above, lower > 0)
			require.Equal(t, c.below, upper < 0)
			require.Equal(t, c.worse, got.worse(t, "errors", "2", "1"))
		})
	}
}

func TestCompareVersionsByTimes(t *testing.T) {
	for _, c := range []struct {
		name         string
		older, newer int
		worse        float64
	}{
		{"the newer one takes a quarter longer", 1000, 1250, 1},
		{"the older one takes a quarter longer", 1250, 1000, 0},
		{"both take as long", 1000, 1000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVersions(t, false)
			var got values
			for page := range 8 {
				got = v.serve(page, served{"1", 50, 0, c.older, 900}, served{"2", 10, 0, c.newer, 900})
				require.Equal(
					t,
					page > 4,
					hasSeries(got, `version_worse{by="duration", model="llm", model_id="llm", than="1", version="2"}`),
					"four intervals are too few",
				)
			}
			lower, upper := got.differs(t, "version_duration_difference_seconds", "2", "1")
			truth := float64(c.newer-c.older) / 1000
			require.LessOrEqual(t, lower, truth+1e-3)
			require.GreaterOrEqual(t, upper, truth-1e-3)
			require.Less(t, upper-lower, 0.2)
			require.Equal(t, c.worse, got.worse(t, "duration", "2", "1"))
		})
	}
}

func TestVersionIsComparedWithPreviousVersion(t *testing.T) {
	v := newVersions(t, false)
	newServed := func(version string, failed int) served { return served{version, 100, failed, 1000, 900} }
	v.serve(0, newServed("10", 30), newServed("2", 0), newServed("9", 0))
	got := v.serve(1, newServed("10", 30), newServed("2", 0), newServed("9", 0))
	require.Equal(t, 1.0, got.worse(t, "errors", "10", "9"))
	require.Zero(t, got.worse(t, "errors", "9", "2"))
	got.lacks(
		t,
		`version_worse{by="errors", model="llm", model_id="llm", than="2", version="10"}`,
		"each is compared with the one before it",
	)
}

func TestTokensPerVersion(t *testing.T) {
	v := newVersions(t, false)
	got := v.serve(0, served{"1", 10, 0, 1000, 900}, served{"2", 10, 0, 1000, 350})
	require.Equal(t, 900.0, got.get(t, `model_generation_tokens_total{model="llm", model_id="llm", version="1"}`))
	require.Equal(t, 350.0, got.get(t, `model_generation_tokens_total{model="llm", model_id="llm", version="2"}`))
	require.Equal(t, 1250.0, got.get(t, `generation_tokens_total{model_id="llm"}`))
}

// TestVersionsWithTooFewRequestsAreNotCompared has a sole version, versions that hand
// every request over at once, and versions without requests.
func TestVersionsWithTooFewRequestsAreNotCompared(t *testing.T) {
	idle, busy := served{"1", 0, 0, 0, 0}, served{"2", 100, 50, 1000, 900}
	for _, each := range [][]served{
		{idle, busy},
		{idle, {"2", 0, 0, 0, 0}},
		{{"1", 100, 50, 1000, 900}, {"2", 0, 0, 0, 0}},
	} {
		v := newVersions(t, false)
		v.serve(0, each...)
		requireNoComparison(t, v.serve(1, each...))
	}
	sole := newVersions(t, false)
	sole.serve(0, served{"1", 100, 0, 1000, 900})
	requireNoComparison(t, sole.serve(1, served{"1", 100, 50, 1000, 900}))
	hands := newVersions(t, true)
	for page := range 8 {
		got := hands.serve(page, served{"1", 100, 0, 1, 900}, served{"2", 100, 50, 2, 900})
		requireNoComparison(t, got)
	}
}

// requireNoComparison requires that no versions are compared.
func requireNoComparison(t *testing.T, got values) {
	t.Helper()
	require.Zero(t, got.count("version_"))
}

// TestRatesOfVersionsAddUp has a Triton to which a second version of a model is loaded, which takes over its five
// requests a second, and from which the first one is unloaded then, or was at once.
func TestRatesOfVersionsAddUp(t *testing.T) {
	for _, beside := range []int{10, 0} {
		b := newBench(t, engine.Triton, "m")
		for n := range 40 {
			taken := max(n-20, 0) // The pages since the second version gets the requests.
			shows := map[string]bool{"1": n < 20+beside, "2": n >= 20}
			var page []string
			for version, ended := range map[string]int{"1": 1000 + 25*(n-taken), "2": 25 * taken} {
				if l := fmt.Sprintf(`model="m",version=%q`, version); shows[version] {
					page = append(
						page,
						fmt.Sprintf(`nv_inference_request_success{%s} %d`, l, ended),
						fmt.Sprintf(`nv_inference_request_failure{%s} 0`, l),
					)
				}
			}
			slices.Sort(page)
			got, sum, shown := b.page(page...), 0.0, false
			for series, v := range got {
				if strings.HasPrefix(series, "requests_per_second{") {
					sum, shown = sum+v, true
				}
			}
			if shown {
				require.InDelta(t, 5, sum, .5, "page %d, beside for %d", n, beside)
			}
		}
	}
}
