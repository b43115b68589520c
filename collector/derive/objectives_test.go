package derive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// promises sets the objectives of the pool, before the first page.
func (b *bench) promises(objectives ...derive.Objective) *bench {
	return b.with(func(o *derive.Options) { o.Objectives = objectives })
}

// firstTokens returns a page of a vLLM with that many first tokens up to 1 s, 2 s, 5 s
// and in total.
func firstTokens(counts ...int) []string {
	return histogram("vllm:time_to_first_token_seconds", `engine="0",model_name="m"`, 9, "1.0 2.0 5.0 +Inf", counts...)
}

func TestObjectiveCountsRequests(t *testing.T) {
	for _, c := range []struct {
		name         string
		within       time.Duration
		lower, upper float64
		reason       string
	}{
		{
			"a bucket ends at the target", 2 * time.Second, 30, 30,
			"a bucket of vllm:time_to_first_token_seconds ends at the target",
		},
		{
			"the target lies between two buckets", 3 * time.Second, 10, 30,
			"the target lies between the buckets of vllm:time_to_first_token_seconds that end at 2 s and 5 s: bad " +
				"requests are counted as two bounds",
		},
		{
			"the target lies below all buckets", time.Second / 2, 60, 100,
			"the target lies between the buckets of vllm:time_to_first_token_seconds that end at 0 s and 1 s: bad " +
				"requests are counted as two bounds",
		},
		{
			"the largest bucket ends at the target", 5 * time.Second, 10, 10,
			"a bucket of vllm:time_to_first_token_seconds ends at the target",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m").promises(derive.Objective{
				Name:   derive.TTFT,
				Within: c.within,
				Share:  0.95,
			})
			got := b.page(firstTokens(40, 70, 90, 100)...)
			require.Equal(
				t,
				100.0,
				got.get(t, `slo_requests_total{model_id="m", slo="ttft"}`),
				"from the first page on",
			)
			require.Equal(t, c.lower, got.get(t, `slo_requests_bad_total{bound="lower", model_id="m", slo="ttft"}`))
			require.Equal(t, c.upper, got.get(t, `slo_requests_bad_total{bound="upper", model_id="m", slo="ttft"}`))
			require.Equal(t, []target.Check{{Name: "ttft", OK: true, Reason: c.reason}}, b.deriver.Objectives())
		})
	}
}

// requireNoObjective requires that objectives count no requests, and that they give the reason.
func (b *bench) requireNoObjective(page []string, name, reason string) {
	b.tb.Helper()
	require.Zero(b.tb, b.page(page...).count("slo_"))
	var want []target.Check
	if reason != "" {
		want = []target.Check{{Name: name, Reason: reason}}
	}
	require.Equal(b.tb, want, b.deriver.Objectives())
}

func TestObjectivesNotMeasurable(t *testing.T) {
	const nothing = "the page shows neither how long requests took nor how they ended"
	for _, c := range []struct {
		name   string
		kind   engine.Name
		within time.Duration
		page   []string
		want   string
	}{
		{
			"a Triton without histograms", engine.Triton, time.Second,
			[]string{`nv_inference_request_success{model="m",version="1"} 5`},
			nothing,
		},
		{
			"a trtllm-serve whose series appear with the first request",
			engine.TRTLLMServe, time.Second,
			[]string{`trtllm_prompt_cached_tokens_total{model_name="m"} 0`},
			"",
		},
		{
			"a trtllm-serve that served requests without histogram",
			engine.TRTLLMServe, time.Second,
			[]string{`trtllm_request_success_total{finished_reason="stop",model_name="m"} 3`},
			nothing,
		},
		{
			"a histogram without its last bucket", engine.VLLM, time.Second, firstTokens(1, 2, 3, 4)[:3],
			"vllm:time_to_first_token_seconds has no buckets",
		},
		{
			"a target above all buckets", engine.VLLM, 6 * time.Second, firstTokens(40, 70, 90, 100),
			"the largest bucket of vllm:time_to_first_token_seconds ends at 5 s: slower requests cannot be told apart",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			newBench(t, c.kind, "m").promises(derive.Objective{
				Name:   derive.TTFT,
				Within: c.within,
				Share:  0.95,
			}).requireNoObjective(c.page, "ttft", c.want)
		})
	}
	newBench(t, engine.VLLM, "m").requireNoObjective(firstTokens(40, 70, 90, 100), "", "")
	falling := newBench(t, engine.VLLM, "m").promises(derive.Objective{
		Name:   derive.TTFT,
		Within: 2 * time.Second,
		Share:  0.95,
	})
	require.Zero(t, falling.page(firstTokens(40, 170, 90, 100)...).count("slo_"), "buckets that fall are not counted")
}

func TestAvailabilityCountsServerFailures(t *testing.T) {
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
		name              string
		model             engine.ModelFacts
		lower, upper, all float64
	}{
		{"a model counts each request once", configured("m", "onnxruntime", false), 6, 6, 100},
		{
			"an ensemble counts most failures twice",
			engine.ModelFacts{Name: "m", State: "READY", Configured: true, Platform: "ensemble"},
			3, 6, 97,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m").promises(available).facts(c.model).release("2.51.0")
			got := b.page(page...)
			require.Equal(t, c.all, got.get(t, all))
			require.Equal(t, c.lower, got.get(t, good))
			const failed = `model="m", model_id="m"`
			require.Equal(t, c.lower, got.get(t, `requests_total{class="server", `+failed+`, version="1"}`))
			require.Equal(t, c.lower, got.get(t, `requests_failed_total{class="server", `+failed+`, reason="other", version="1"}`))
			require.Equal(t, c.upper, got.get(t, bad))
			require.Equal(t, []target.Check{{
				Name:   "availability",
				OK:     true,
				Reason: "requests are counted by how they ended",
			}}, b.deriver.Objectives())
		})
	}
}

func TestAvailabilityReasons(t *testing.T) {
	const (
		success   = `nv_inference_request_success{model="m",version="1"} 90`
		canceled  = `nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 3`
		rejected  = `nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 3`
		unknown   = "the server does not count all failures, or it is unknown whether it does"
		uncounted = "the server does not count the requests that fail by its fault"
	)
	trusted := configured("m", "onnxruntime", false)
	for _, c := range []struct {
		name string
		kind engine.Name
		m    engine.ModelFacts
		page []string
		want string
	}{
		{"successes alone", engine.Triton, trusted, []string{success}, uncounted},
		{"failures of clients alone", engine.Triton, trusted, []string{success, canceled}, uncounted},
		{"refusals alone", engine.Triton, trusted, []string{success, canceled, rejected}, uncounted},
		{"a decoupled model", engine.Triton, configured("m", "python", true), []string{success, canceled}, unknown},
		{
			"a possibly decoupled model", engine.Triton,
			engine.ModelFacts{Name: "m"},
			[]string{success, canceled},
			unknown,
		},
		{
			"a release without error counts", engine.TRTLLMServe,
			engine.ModelFacts{Name: "m"},
			[]string{`trtllm_request_success_total{finished_reason="stop",model_name="m"} 3`},
			unknown,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			newBench(t, c.kind, "m").promises(derive.Objective{
				Name:  derive.Availability,
				Share: 0.995,
			}).facts(c.m).release("2.51.0").requireNoObjective(c.page, "availability", c.want)
		})
	}
}
