package derive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// promises gives the pool of a target objectives, before its first page.
func (b *bench) promises(objectives ...derive.Objective) *bench {
	b.opts.Objectives = objectives
	b.deriver = derive.NewDeriver(b.opts)
	return b
}

// firstTokens returns a page of a vLLM with that many first tokens up to 1 s, 2 s, 5 s
// and in total.
func firstTokens(one, two, five, all int) []string {
	lines := []string{"# TYPE vllm:time_to_first_token_seconds histogram"}
	for i, le := range []string{"1.0", "2.0", "5.0", "+Inf"} {
		lines = append(lines, fmt.Sprintf(`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le=%q} %d`, le, []int{one, two, five, all}[i]))
	}
	return append(
		lines,
		fmt.Sprintf(`vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} %d`, all),
		`vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 9`,
	)
}

func TestRequestsAreCountedByTheTargetOfAnObjective(t *testing.T) {
	for _, c := range []struct {
		says         string
		within       time.Duration
		lower, upper float64
		reason       string
	}{
		{"a bucket ends at the target", 2 * time.Second, 30, 30, "a bucket of vllm:time_to_first_token_seconds ends at the target"},
		{"the target lies between two buckets", 3 * time.Second, 10, 30, "the target lies between the buckets of vllm:time_to_first_token_seconds that end at 2 s and 5 s: bad requests are counted as two bounds"},
		{"the target lies below all buckets", time.Second / 2, 60, 100, "the target lies between the buckets of vllm:time_to_first_token_seconds that end at 0 s and 1 s: bad requests are counted as two bounds"},
		{"the largest bucket ends at the target", 5 * time.Second, 10, 10, "a bucket of vllm:time_to_first_token_seconds ends at the target"},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.TTFT, Within: c.within, Share: 0.95})
			got := b.page(firstTokens(40, 70, 90, 100)...)
			require.Equal(t, 100.0, got.at(t, `slo_requests_total{model_id="m", slo="ttft"}`), "from the first page on")
			require.Equal(t, c.lower, got.at(t, `slo_requests_bad_total{bound="lower", model_id="m", slo="ttft"}`))
			require.Equal(t, c.upper, got.at(t, `slo_requests_bad_total{bound="upper", model_id="m", slo="ttft"}`))
			require.Equal(t, []target.Check{{Name: "ttft", OK: true, Reason: c.reason}}, b.deriver.Objectives())
		})
	}
}

func TestATargetAboveAllBucketsIsNotMeasured(t *testing.T) {
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.TTFT, Within: 6 * time.Second, Share: 0.95})
	requireNoObjective(t, b.page(firstTokens(40, 70, 90, 100)...))
	require.Equal(t, []target.Check{{
		Name: "ttft", Reason: "the largest bucket of vllm:time_to_first_token_seconds ends at 5 s: slower requests cannot be told apart",
	}}, b.deriver.Objectives())
}

// requireNoObjective wants no requests counted by objectives.
func requireNoObjective(t *testing.T, got values) {
	t.Helper()
	for series := range got {
		require.False(t, strings.HasPrefix(series, "slo_"), series)
	}
}

func TestObjectivesOfWhichThePageSaysNothing(t *testing.T) {
	ttft := derive.Objective{Name: derive.TTFT, Within: time.Second, Share: 0.95}
	nothing := []target.Check{{Name: "ttft", Reason: "the page shows neither how long requests took nor how they ended"}}
	for _, c := range []struct {
		says string
		kind engine.Kind
		page []string
		want []target.Check
	}{
		{"a Triton without histograms", engine.Triton, []string{`nv_inference_request_success{model="m",version="1"} 5`}, nothing},
		{"a trtllm-serve whose series come with the first request", engine.TRTLLMServe, []string{`trtllm_prompt_cached_tokens_total{model_name="m"} 0`}, nil},
		{
			"a trtllm-serve that served requests without histogram", engine.TRTLLMServe,
			[]string{`trtllm_request_success_total{finished_reason="stop",model_name="m"} 3`},
			nothing,
		},
		{
			"a histogram without its last bucket", engine.VLLM, firstTokens(1, 2, 3, 4)[:3],
			[]target.Check{{Name: "ttft", Reason: "vllm:time_to_first_token_seconds has no buckets"}},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, c.kind, "m").promises(ttft)
			requireNoObjective(t, b.page(c.page...))
			require.Equal(t, c.want, b.deriver.Objectives())
		})
	}
}

func TestNothingIsCountedWithoutObjectives(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	requireNoObjective(t, b.page(firstTokens(40, 70, 90, 100)...))
	require.Empty(t, b.deriver.Objectives())
}

func TestBucketsThatFallAreNotCounted(t *testing.T) {
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.TTFT, Within: 2 * time.Second, Share: 0.95})
	requireNoObjective(t, b.page(firstTokens(40, 170, 90, 100)...))
}

func TestAvailabilityCountsWhatTheServerIsToBlameFor(t *testing.T) {
	available := derive.Objective{Name: derive.Availability, Share: 0.995}
	const good, bad, all = `slo_requests_bad_total{bound="lower", model="m", model_id="m", slo="availability", version="1"}`,
		`slo_requests_bad_total{bound="upper", model="m", model_id="m", slo="availability", version="1"}`,
		`slo_requests_total{model="m", model_id="m", slo="availability", version="1"}`
	page := []string{
		`nv_inference_request_success{model="m",version="1"} 90`,
		`nv_inference_request_failure{model="m",reason="OTHER",version="1"} 6`,
		`nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 3`,
		`nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 1`,
	}
	for _, c := range []struct {
		says              string
		model             engine.ModelFacts
		lower, upper, all float64
	}{
		{"a model counts each request once", configured("m", "onnxruntime", false), 6, 6, 100},
		{"an ensemble counts most failures twice", engine.ModelFacts{Name: "m", State: "READY", Configured: true, Platform: "ensemble"}, 3, 6, 97},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m").promises(available).facts(c.model)
			got := b.page(page...)
			require.Equal(t, c.all, got.at(t, all))
			require.Equal(t, c.lower, got.at(t, good))
			require.Equal(t, c.upper, got.at(t, bad))
			require.Equal(t, []target.Check{{Name: "availability", OK: true, Reason: "requests are counted by how they ended"}}, b.deriver.Objectives())
		})
	}
	t.Run("of a model that hands its requests over it is not known", func(t *testing.T) {
		b := newBench(t, engine.Triton, "m").promises(available).facts(configured("m", "python", true))
		requireNoObjective(t, b.page(page...))
		require.Equal(t, []target.Check{{Name: "availability", Reason: "the server does not count all failures, or it is unknown whether it does"}}, b.deriver.Objectives())
	})
}

func TestWhyAvailabilityIsNotMeasured(t *testing.T) {
	const (
		success   = `nv_inference_request_success{model="m",version="1"} 90`
		canceled  = `nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 3`
		rejected  = `nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 3`
		unknown   = "the server does not count all failures, or it is unknown whether it does"
		uncounted = "the server does not count the requests that fail by its fault"
	)
	trusted := configured("m", "onnxruntime", false)
	for _, c := range []struct {
		says string
		kind engine.Kind
		m    engine.ModelFacts
		page []string
		want string
	}{
		{"successes alone", engine.Triton, trusted, []string{success}, uncounted},
		{"failures of clients alone", engine.Triton, trusted, []string{success, canceled}, uncounted},
		{"refusals alone", engine.Triton, trusted, []string{success, canceled, rejected}, uncounted},
		{"a model that hands its requests over", engine.Triton, configured("m", "python", true), []string{success, canceled}, unknown},
		{"a model that may hand its requests over", engine.Triton, engine.ModelFacts{Name: "m"}, []string{success, canceled}, unknown},
		{"a release that counts no errors", engine.TRTLLMServe, engine.ModelFacts{Name: "m"}, []string{`trtllm_request_success_total{finished_reason="stop",model_name="m"} 3`}, unknown},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, c.kind, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995}).facts(c.m)
			requireNoObjective(t, b.page(c.page...))
			require.Equal(t, []target.Check{{Name: "availability", Reason: c.want}}, b.deriver.Objectives())
		})
	}
}
