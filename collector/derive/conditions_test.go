package derive_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// busy is a page of an executor with so many active requests and iterations.
func busy(active, iterations int) []string {
	return with(trtllm(active, active, 0, 8, 1, 100, 500),
		fmt.Sprintf(`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} %d`, iterations))
}

func TestAnExecutorIsStalledWhenItStandsStillWithWork(t *testing.T) {
	const pages = int(derive.DefaultStallAfter / (5 * time.Second))
	for _, tc := range []struct {
		name string
		// then is what happens after a first page with work.
		then func(b *bench)
		want bool
	}{
		{"frozen for as long as is allowed", func(b *bench) { b.frozen(pages) }, true},
		{"frozen for less", func(b *bench) { b.frozen(pages - 1) }, false},
		{"frozen without work", func(b *bench) {
			for range pages {
				b.page(busy(0, 100)...)
			}
		}, false},
		{"an iteration in between", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 101)...)
		}, false},
		{"frozen over a gap between scrapes", func(b *bench) {
			b.frozen(pages - 2)
			b.now += time.Minute
			b.frozen(1)
		}, true},
		{"work that has just come to an idle executor", func(b *bench) {
			for range 2 * pages {
				b.page(busy(0, 100)...)
			}
			b.frozen(1)
		}, false},
		{"a new process that has just begun", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 1)...)
		}, false},
		{"work that has ended", func(b *bench) {
			b.frozen(pages)
			b.page(busy(0, 101)...)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			require.False(t, b.deriver.Conditions().Stalled, "before any page")
			b.page(busy(3, 100)...)
			tc.then(b)
			require.Equal(t, tc.want, b.deriver.Conditions().Stalled)
		})
	}
}

// frozen are pages of an executor with work that does nothing.
func (b *bench) frozen(pages int) {
	for range pages {
		b.page(busy(3, 100)...)
	}
}

func TestAReplicaFailsWhenItsRequestsOnlyFail(t *testing.T) {
	ended := func(b *bench, succeeded, failed, cancelled int) {
		b.page(
			fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, succeeded),
			fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} %d`, failed),
			fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="CANCELED",version="1"} %d`, cancelled),
		)
	}
	for _, tc := range []struct {
		name  string
		pages [][3]int
		want  bool
	}{
		{"failures on two pages", [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 2, 0}}, true},
		{"one bad page", [][3]int{{7, 0, 0}, {7, 5, 0}, {7, 5, 0}}, false},
		{"one success among failures", [][3]int{{7, 0, 0}, {7, 1, 0}, {8, 2, 0}}, false},
		{"clients that went away", [][3]int{{7, 0, 0}, {7, 0, 1}, {7, 0, 2}}, false},
		{"a success afterwards", [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 2, 0}, {8, 2, 0}}, false},
		{"failures of before the first page", [][3]int{{7, 9, 0}, {7, 9, 0}, {7, 9, 0}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			for _, p := range tc.pages {
				ended(b, p[0], p[1], p[2])
			}
			require.Equal(t, tc.want, b.deriver.Conditions().Failing)
		})
	}
	t.Run("scrapes that were missed", func(t *testing.T) {
		b := newBench(t, engine.Triton, models()...)
		for _, p := range [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 2, 0}} {
			ended(b, p[0], p[1], p[2])
		}
		b.now += 20 * time.Second
		ended(b, 7, 5, 0)
		require.True(t, b.deriver.Conditions().Failing, "nothing succeeded meanwhile")
		b.now += 20 * time.Second
		ended(b, 8, 5, 0)
		require.False(t, b.deriver.Conditions().Failing, "something did")
	})
	t.Run("a process that began again", func(t *testing.T) {
		page := func(b *bench, succeeded, failed, others int) {
			b.page(
				fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, succeeded),
				fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} %d`, failed),
				fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, others),
				fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, others),
			)
		}
		b := newBench(t, engine.Triton, models()...)
		for failed := range 4 {
			page(b, 7, failed, 7)
		}
		require.True(t, b.deriver.Conditions().Failing)
		page(b, 0, 0, 0)
		require.False(t, b.deriver.Conditions().Failing, "it has not failed a request")
		page(b, 0, 1, 0)
		page(b, 0, 2, 0)
		require.True(t, b.deriver.Conditions().Failing, "it does as well")
	})
	t.Run("a request in each of two windows", func(t *testing.T) {
		b := newBench(t, engine.Triton, models()...)
		ended(b, 7, 0, 0)
		for failed := range 2 {
			require.False(t, b.deriver.Conditions().Failing)
			for range 18 {
				ended(b, 7, failed, 0)
			}
			ended(b, 7, failed+1, 0)
		}
		require.True(t, b.deriver.Conditions().Failing)
	})
	t.Run("failures that ended a window ago", func(t *testing.T) {
		b := newBench(t, engine.Triton, models()...)
		for _, p := range [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 2, 0}} {
			ended(b, p[0], p[1], p[2])
		}
		for range 13 {
			ended(b, 7, 2, 0)
		}
		require.False(t, b.deriver.Conditions().Failing)
	})
}
