package collector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// more is the good page with lines behind it.
func more(lines ...string) string { return tritonPage + strings.Join(lines, "\n") + "\n" }

func TestFaultsOfSeries(t *testing.T) {
	t.Parallel()
	typeOf := func(family, was, is string) string {
		old, changed := "# TYPE "+family+" "+was+"\n", "# TYPE "+family+" "+is+"\n"
		require.Contains(t, tritonPage, old)
		return strings.Replace(tritonPage, old, changed, 1)
	}
	without := func(family string) string {
		var b strings.Builder
		for line := range strings.Lines(tritonPage) {
			if !strings.Contains(line, family) {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	runFaults(t, []faultCase{
		{
			name: "S01 a series twice", play: body(more(`nv_s01{a="1"} 1`, `nv_s01{a="1"} 2`)), dropped: exposition.DropDuplicate,
			shows: []string{`nv_s01{a="1",engine="triton",engine_version="unknown",pool_id="S01",replica_id="bad",trtllm_version="unknown"} 1`}, hides: []string{`nv_s01{a="1",engine="triton",engine_version="unknown",pool_id="S01",replica_id="bad",trtllm_version="unknown"} 2`},
		},
		{name: "S02 a series twice, labels in other order", play: body(more(`nv_s02{a="1",b="2"} 1`, `nv_s02{b="2",a="1"} 2`)), dropped: exposition.DropDuplicate},
		{name: "S03 a family in two places", play: body(more(`# TYPE nv_s03 gauge`, `nv_s03{a="1"} 1`, `nv_other 1`, `nv_s03{a="2"} 2`)), shows: []string{
			"# TYPE nv_s03 gauge\n" + `nv_s03{a="1",engine="triton",engine_version="unknown",pool_id="S03",replica_id="bad",trtllm_version="unknown"} 1` + "\n" +
				`nv_s03{a="2",engine="triton"`,
		}},
		{name: "S04 two types in a page", play: body(more("# TYPE nv_s04 gauge", "nv_s04 1", "# TYPE nv_s04 counter", `nv_s04{a="1"} 2`)), shows: []string{
			"# TYPE nv_s04 gauge\n", `trtllm_exporter_target_type_conflicts_total{pool_id="S04",replica_id="bad"}`,
		}},
		{name: "S05 a counter that is a gauge elsewhere", untypes: "# TYPE nv_inference_count ", play: body(typeOf("nv_inference_count", "counter", "gauge")), shows: []string{
			"# TYPE nv_inference_count untyped\n", `nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="S05"`,
		}},
		{
			name: "S06 a histogram that is a gauge elsewhere", untypes: "nv_inference_first_response_histogram_ms",
			play: body(without("nv_inference_first_response_histogram_ms") + "# TYPE nv_inference_first_response_histogram_ms gauge\nnv_inference_first_response_histogram_ms 7\n"),
			shows: []string{
				"# TYPE nv_inference_first_response_histogram_ms_bucket untyped\n",
				`nv_inference_first_response_histogram_ms{engine="triton",engine_version="unknown",pool_id="S06"`,
			},
		},
		{
			name: "S07 a gauge that is a summary's count elsewhere", untypes: "nv_inference_request_summary_us",
			play:  body(without("nv_inference_request_summary_us") + "# TYPE nv_inference_request_summary_us_count gauge\nnv_inference_request_summary_us_count 7\n"),
			shows: []string{`nv_inference_request_summary_us_count{engine="triton",engine_version="unknown",pool_id="S07"`},
		},
		{
			name: "S08 another HELP", play: body(strings.ReplaceAll(tritonPage, "# HELP nv_inference_count ", "# HELP nv_inference_count Another ")),
			hides: []string{"# HELP nv_inference_count Another"},
			shows: []string{`nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="S08"`},
		},
		{name: "S09 a newline in HELP", play: body(more("# HELP nv_s09 one", "two three", "# TYPE nv_s09 gauge", "nv_s09 1")), reason: scrape.ReasonParse},
		{name: "S10 Nan as prometheus-cpp writes it", play: body(more(`nv_inference_request_summary_us{model="x",version="1",quantile="0.5"} Nan`)), shows: []string{
			`pool_id="S10",quantile="0.5",replica_id="bad",trtllm_version="unknown",version="1"} NaN`,
		}},
		{name: "S11 infinite and negative counters", play: body(more(
			"# TYPE nv_s11 counter", `nv_s11{a="1"} +Inf`, `nv_s11{a="2"} -Inf`, `nv_s11{a="3"} -1`, `nv_inference_request_success{model="x",version="1"} +Inf`,
		)), shows: []string{
			`nv_s11{a="1",engine="triton",engine_version="unknown",pool_id="S11",replica_id="bad",trtllm_version="unknown"} +Inf`,
			`nv_s11{a="2",engine="triton",engine_version="unknown",pool_id="S11",replica_id="bad",trtllm_version="unknown"} -Inf`,
			`nv_s11{a="3",engine="triton",engine_version="unknown",pool_id="S11",replica_id="bad",trtllm_version="unknown"} -1`,
			`trtllm_exporter_target_derived_skipped_total{pool_id="S11",reason="nonfinite",replica_id="bad"}`,
		}},
		{name: "S12 a number too large", play: body(more("nv_s12 1e400")), reason: scrape.ReasonParse},
		{name: "S13 a broken histogram", play: body(more(
			"# TYPE nv_s13 histogram", `nv_s13_bucket{le="1"} 5`, `nv_s13_bucket{le="2"} 3`, "nv_s13_count 5", "nv_s13_sum 1",
		)), hides: []string{`llm_server_nv_s13`}},
		{name: "S14 timestamps", play: body(more("nv_s14 1 1573820820000")), shows: []string{
			`nv_s14{engine="triton",engine_version="unknown",pool_id="S14",replica_id="bad",trtllm_version="unknown"} 1` + "\n",
		}},
		{name: "S16 an executor that counts nothing", play: body(more(
			"# TYPE nv_trt_llm_request_metrics gauge", `nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 0`,
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 0`,
			"# TYPE nv_trt_llm_general_metrics gauge", `nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} 0`,
		)), shows: []string{
			`pool_id="S16",replica_id="bad",state="stalled",trtllm_version="unknown"} 0`,
		}},
		{name: "S15 types without samples", play: body(more("# HELP nv_s15 Nothing", "# TYPE nv_s15 gauge")), hides: []string{"nv_s15"}},
	})
}

func TestFaultsOfLabels(t *testing.T) {
	t.Parallel()
	const us = `,engine="triton",engine_version="unknown",pool_id=`
	many := make([]string, 65)
	for i := range many {
		many[i] = strings.Repeat("a", i+1) + `="1"`
	}
	runFaults(t, []faultCase{
		{
			name: "L01 the page speaks as another pool", play: body(more(`nv_l01{pool_id="A00",replica_id="h0"} 666`)),
			shows: []string{`nv_l01{engine="triton",engine_version="unknown",exported_pool_id="A00",exported_replica_id="h0",pool_id="L01",replica_id="bad",trtllm_version="unknown"} 666`},
			hides: []string{`nv_l01{pool_id="A00"`},
		},
		{name: "L02 the exported name is taken", play: body(more(`nv_l02{pool_id="x",exported_pool_id="y"} 1`)), shows: []string{
			`nv_l02{engine="triton",engine_version="unknown",exported_exported_pool_id="x",exported_pool_id="y",pool_id="L02",replica_id="bad",trtllm_version="unknown"} 1`,
		}},
		{name: "L03 a label that is a name", play: body(more(`nv_l03{__name__="nv_inference_count"} 1`)), dropped: exposition.DropReservedLabel, hides: []string{"nv_l03"}},
		{name: "L04 a label twice", play: body(more(`nv_l04{x="1",x="2"} 1`)), dropped: exposition.DropInvalidLabels, hides: []string{"nv_l04"}},
		{name: "L05 quotes and newlines", play: body(more(`nv_l05{a="q\"b\\n\nx"} 1`)), shows: []string{`nv_l05{a="q\"b\\n\nx"` + us + `"L05"`}},
		{name: "L06 a raw newline", play: body(more("nv_l06{a=\"x\ny\"} 1")), shows: []string{`nv_l06{a="x\ny"` + us + `"L06"`}},
		{name: "L07 no UTF-8", play: faulty(simulate.FaultBadUTF8), reason: scrape.ReasonParse},
		{name: "L08 a name of UTF-8", play: body(more(`{"nv.l08",a="1"} 1`)), shows: []string{`"L08"`}},
		{name: "L09 65 labels", play: body(more("nv_l09{" + strings.Join(many, ",") + "} 1")), reason: scrape.ReasonLabelLimit},
		{name: "L09-long", play: body(more(`nv_l09{a="` + strings.Repeat("x", 10<<10) + `"} 1`)), reason: scrape.ReasonLabelLimit},
		{
			name: "L10 our own names", play: body(more(`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 0`, `llm_server_ready 0`)),
			dropped: exposition.DropReservedName, hides: []string{`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 0`},
		},
	})
}

// The exporter never takes its own page for that of a server.
func TestL11SelfScrape(t *testing.T) {
	t.Parallel()
	mirror := newStage(t)
	l := startLine(t, staged("A00", "h0="+newStage(t).host()), staged("L11", "bad="+mirror.host()), pool("L11-auto", "bad="+mirror.host()))
	page := l.eventually(`trtllm_exporter_target_up{pool_id="L11",replica_id="bad"} 1`)
	whole := l.self() + page
	mirror.play(body(whole))
	l.eventually(
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11",reason="self_scrape",replica_id="bad"}`,
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11-auto",reason="self_scrape",replica_id="bad"}`,
		`trtllm_exporter_target_up{pool_id="L11",replica_id="bad"} 0`,
		`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 1`,
	)
	// A page of ours that was there from the start is known as well.
	l.apply(staged("A00", "h0="+newStage(t).host()), pool("L11-fresh", "bad="+mirror.host()))
	l.eventually(`trtllm_exporter_target_scrape_failures_total{pool_id="L11-fresh",reason="self_scrape",replica_id="bad"}`)
	mirror.play(body(l.self()))
	l.apply(staged("A00", "h0="+newStage(t).host()), pool("L11-bare", "bad="+mirror.host()))
	l.eventually(`trtllm_exporter_target_scrape_failures_total{pool_id="L11-bare",reason="self_scrape",replica_id="bad"}`)
}
