package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// ended is what a model of Triton counts: its successes, and its failures by reason.
type ended map[string]int

// endings returns a page of models, with all that each has counted.
func endings(models map[string]ended) (lines []string) {
	for model, counts := range models {
		lines = append(lines, fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, counts["ok"]))
		for _, reason := range []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} {
			const failure = `nv_inference_request_failure{model=%q,reason=%q,version="1"} %d`
			lines = append(lines, fmt.Sprintf(failure, model, reason, counts[reason]))
		}
	}
	slices.Sort(lines)
	return lines
}

// times returns what models count after a number of equal periods.
func times(n int, models map[string]ended) map[string]ended {
	all := make(map[string]ended)
	for model, counts := range models {
		all[model] = make(ended)
		for reason, count := range counts {
			all[model][reason] = n * count
		}
	}
	return all
}

// ensembleOf returns the config of an ensemble.
func ensembleOf(name string, steps ...string) engine.ModelFacts {
	return engine.ModelFacts{Name: name, State: "READY", Configured: true, Platform: "ensemble", Steps: steps}
}

// shipped returns the models of the template, with others in front of the LLM.
func shipped(others ...engine.ModelFacts) []engine.ModelFacts {
	return append(others,
		ensembleOf("ensemble", "preprocessing", "tensorrt_llm", "postprocessing"),
		configured("preprocessing", "python", false),
		configured("tensorrt_llm", "tensorrtllm", false),
		configured("postprocessing", "python", false),
	)
}

// shares returns the error ratios of a model by class.
func shares(got values, model string) (ratios map[string]float64) {
	ratios = make(map[string]float64)
	for _, class := range []string{"client", "canceled", "overload", "server", "unknown"} {
		for series, v := range got {
			if strings.HasPrefix(series, fmt.Sprintf(`request_error_ratio{class=%q, model=%q,`, class, model)) && v > 0 {
				ratios[class] = v
			}
		}
	}
	return ratios
}

// TestFailureOfEnsembleHasClassOfItsStep uses an ensemble of a release that counts each of its failures twice, as
// other ones (core src/ensemble_scheduler, FinishEnsemble), whatever the reason of the step that failed.
func TestFailureOfEnsembleHasClassOfItsStep(t *testing.T) {
	for _, c := range []struct {
		name   string
		models map[string]ended
		others []engine.ModelFacts
		// ended is how many requests to the ensemble end between two pages, want the share of those that failed by
		// class, nil if some are of unknown class.
		ended   float64
		want    map[string]float64
		failing bool
	}{
		{
			"its LLM rejects", map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 8}, "preprocessing": {"ok": 5},
				"tensorrt_llm": {"ok": 1, "REJECTED": 4}, "postprocessing": {"ok": 1},
			}, nil, 5, map[string]float64{"overload": 0.8}, false,
		},
		{
			"all are rejected", map[string]ended{
				"ensemble": {"OTHER": 8}, "preprocessing": {"ok": 4}, "tensorrt_llm": {"REJECTED": 4},
			}, nil, 4, map[string]float64{"overload": 1}, false,
		},
		{
			"all are canceled in its queue", map[string]ended{
				"ensemble": {"OTHER": 8}, "preprocessing": {"ok": 4}, "tensorrt_llm": {"CANCELED": 4},
			}, nil, 4, map[string]float64{"canceled": 1}, false,
		},
		{
			"its first step rejects", map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 8}, "preprocessing": {"ok": 1, "REJECTED": 4},
				"tensorrt_llm": {"ok": 1}, "postprocessing": {"ok": 1},
			}, nil, 5, map[string]float64{"overload": 0.8}, false,
		},
		{
			"two steps, two reasons", map[string]ended{
				"ensemble": {"ok": 2, "OTHER": 16}, "preprocessing": {"ok": 7, "CANCELED": 3},
				"tensorrt_llm": {"ok": 2, "REJECTED": 5}, "postprocessing": {"ok": 2},
			}, nil, 10, map[string]float64{"canceled": 0.3, "overload": 0.5}, false,
		},
		{
			"some are rejected, others fail in the LLM", map[string]ended{
				"ensemble": {"OTHER": 20}, "preprocessing": {"ok": 10},
				"tensorrt_llm": {"REJECTED": 4, "BACKEND": 6},
			}, nil, 10, map[string]float64{"overload": 0.4, "server": 0.6}, true,
		},
		{
			"some are rejected, others nobody counts", map[string]ended{
				"ensemble": {"OTHER": 20}, "preprocessing": {"ok": 10},
				"tensorrt_llm": {"ok": 6, "REJECTED": 4}, "postprocessing": {"ok": 6},
			}, nil, 10, map[string]float64{"overload": 0.4, "server": 0.6}, true,
		},
		{
			"no step explains them", map[string]ended{
				"ensemble": {"OTHER": 8}, "preprocessing": {"ok": 4},
			}, nil, 4, map[string]float64{"server": 1}, true,
		},
		{
			"failures that are counted once", map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 4}, "preprocessing": {"ok": 5},
				"tensorrt_llm": {"ok": 1, "REJECTED": 4}, "postprocessing": {"ok": 1},
			}, nil, 5, map[string]float64{"overload": 0.8}, false,
		},
		{
			"the LLM rejects clients that call it, and the ensemble fails", map[string]ended{
				"ensemble": {"OTHER": 8}, "preprocessing": {"ok": 4},
				"tensorrt_llm": {"ok": 4, "REJECTED": 4}, "postprocessing": {"ok": 4},
			}, nil, 0, nil, false,
		},
		{
			"the LLM rejects fewer clients that call it than fail", map[string]ended{
				"ensemble": {"OTHER": 24}, "preprocessing": {"ok": 12},
				"tensorrt_llm": {"ok": 12, "REJECTED": 4}, "postprocessing": {"ok": 12},
			}, nil, 0, nil, true,
		},
		{
			"an ensemble that shares the LLM",
			map[string]ended{
				"ensemble": {"OTHER": 8}, "chat": {"OTHER": 8}, "preprocessing": {"ok": 8},
				"tensorrt_llm": {"ok": 4, "REJECTED": 4}, "postprocessing": {"ok": 4},
			},
			[]engine.ModelFacts{ensembleOf("chat", "preprocessing", "tensorrt_llm", "postprocessing")},
			0, nil, false,
		},
		{
			"a BLS model that shares the LLM",
			map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 8}, "tensorrt_llm_bls": {"ok": 9}, "preprocessing": {"ok": 14},
				"tensorrt_llm": {"ok": 10, "REJECTED": 4}, "postprocessing": {"ok": 10},
			},
			[]engine.ModelFacts{configured("tensorrt_llm_bls", "python", true)},
			0, nil, false,
		},
		{
			"a BLS model that nobody calls",
			map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 8}, "tensorrt_llm_bls": {}, "preprocessing": {"ok": 5},
				"tensorrt_llm": {"ok": 1, "REJECTED": 4}, "postprocessing": {"ok": 1},
			},
			[]engine.ModelFacts{configured("tensorrt_llm_bls", "python", true)},
			5,
			map[string]float64{"overload": 0.8},
			false,
		},
		{
			"an ensemble within, which counts each failure twice, too",
			map[string]ended{
				"ensemble": {"ok": 1, "OTHER": 8}, "inner": {"ok": 1, "OTHER": 8}, "preprocessing": {"ok": 5},
				"tensorrt_llm": {"ok": 1, "REJECTED": 4}, "postprocessing": {"ok": 1},
			},
			[]engine.ModelFacts{ensembleOf("inner", "tensorrt_llm")},
			5,
			map[string]float64{"overload": 0.8},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			models := shipped(c.others...)
			if len(c.others) > 0 && c.others[0].Name == "inner" {
				models[1].Steps[1] = "inner"
			}
			b := newBench(t, engine.Triton).facts(models...).release("2.51.0")
			const pages = 6
			var got values
			for n := range pages {
				got = b.page(endings(times(n, c.models))...)
			}
			failing := b.conditions().Failing
			known := func(f derive.Failures) bool { return !f.Unclear }
			require.Equal(t, c.failing, slices.ContainsFunc(failing, known), "%+v", failing)
			ratios := shares(got, "ensemble")
			if c.want == nil {
				require.Len(t, ratios, 1)
				require.Contains(t, ratios, "unknown", "of whom the step rejected requests is not known")
				return
			}
			require.InDeltaMapValues(t, c.want, ratios, 1e-9)
			for class, share := range c.want {
				const total = `requests_total{class=%q, model="ensemble", model_id="ensemble", version="1"}`
				require.InDelta(t, share*c.ended*(pages-1), got.get(t, fmt.Sprintf(total, class)), 1e-9, class)
			}
		})
	}
}

// TestFailuresBeforeReasonsStayTheServers uses a release before 24.07: its steps count no rejection, and nothing
// shows why the ensemble failed.
func TestFailuresBeforeReasonsStayTheServers(t *testing.T) {
	b := newBench(t, engine.Triton).facts(shipped()...).release("2.44.0")
	page := func(n int) values {
		return b.page(
			fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, n),
			fmt.Sprintf(`nv_inference_request_failure{model="ensemble",version="1"} %d`, 4*n),
			fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, n),
			`nv_inference_request_failure{model="tensorrt_llm",version="1"} 0`,
		)
	}
	page(0)
	require.InDeltaMapValues(t, map[string]float64{"server": 0.8}, shares(page(1), "ensemble"), 1e-9)
}

// TestClassesOfAnEnsembleOnlyGrow uses pages between the counts of an ensemble and of its step, which are not
// counted at once: the ensemble counts a failure first, then the step, then the ensemble once more.
func TestClassesOfAnEnsembleOnlyGrow(t *testing.T) {
	b := newBench(t, engine.Triton).facts(shipped()...).release("2.51.0")
	before := make(values)
	var got values
	for n, late := range []int{0, 0, 1, 0, 1, 1, 0, 0} {
		failed := 10 * n
		got = b.page(endings(map[string]ended{
			"ensemble": {"ok": n, "OTHER": 2*failed + late}, "preprocessing": {"ok": n + failed},
			"tensorrt_llm":   {"ok": n, "REJECTED": 6 * n, "BACKEND": 4 * n},
			"postprocessing": {"ok": n},
		})...)
		for series, v := range got {
			if strings.HasPrefix(series, "requests_total") || strings.HasPrefix(series, "requests_failed_total") {
				require.GreaterOrEqual(t, v, before[series], series)
				before[series] = v
			}
		}
	}
	const total = `requests_total{class=%q, model="ensemble", model_id="ensemble", version="1"}`
	require.InDelta(t, 42, got.get(t, fmt.Sprintf(total, "overload")), 1)
	require.InDelta(t, 28, got.get(t, fmt.Sprintf(total, "server")), 1)
	got.lacks(t, fmt.Sprintf(total, "unknown"))
	require.InDeltaMapValues(t, map[string]float64{"overload": 6.0 / 11, "server": 4.0 / 11}, shares(got, "ensemble"), 1e-9)
}

// TestEnsemblesFailuresAddUpInEachFamily compares the families that count failures of an ensemble.
func TestEnsemblesFailuresAddUpInEachFamily(t *testing.T) {
	b := newBench(t, engine.Triton).facts(shipped()...).release("2.51.0").
		promises(derive.Objective{Name: derive.Availability, Share: 0.99})
	page := map[string]ended{
		"ensemble": {"ok": 5, "OTHER": 20}, "preprocessing": {"ok": 15},
		"tensorrt_llm": {"ok": 5, "REJECTED": 7, "CANCELED": 1, "BACKEND": 2}, "postprocessing": {"ok": 5},
	}
	var got values
	for n := range 3 {
		got = b.page(endings(times(n, page))...)
	}
	const model = `model="ensemble", model_id="ensemble"`
	for class, want := range map[string]float64{"overload": 14, "canceled": 2, "server": 4} {
		reason := map[string]string{"overload": "rejected", "canceled": "canceled", "server": "other"}[class]
		series := fmt.Sprintf(`requests_failed_total{class=%q, %s, reason=%q, version="1"}`, class, model, reason)
		require.InDelta(t, want, got.get(t, series), 1e-9)
		require.InDelta(t, want, got.get(t, fmt.Sprintf(`requests_total{class=%q, %s, version="1"}`, class, model)), 1e-9)
	}
	const bad = `slo_requests_bad_total{bound=%q, model="ensemble", model_id="ensemble", slo="availability", version="1"}`
	require.InDelta(t, 4, got.get(t, fmt.Sprintf(bad, "lower")), 1e-9)
	require.InDelta(t, 24, got.get(t, fmt.Sprintf(bad, "upper")), 1e-9, "each count may be one failure")
}
