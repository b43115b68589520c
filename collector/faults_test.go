package collector_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// faultCase is a case of docs/dev/faults.md: one faulty target among healthy ones.
type faultCase struct {
	// name begins with the code of the case.
	name string
	// page answers for the target while it is faulty.
	page http.HandlerFunc
	// reason is the reason of the failed scrape; empty if it does not fail.
	reason scrape.Reason
	// dropped is the reason for which series of a successful scrape are dropped.
	dropped string
	// shows must be on the page, hides must not.
	shows, hides []string
	// prepare changes the pool of the target.
	prepare func(*config.Pool)
}

// faultCases returns a case for each kind of consequence; packages scrape and exposition
// test the others.
func faultCases() []faultCase {
	const ok, end = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", "\r\n\r\n"
	const us = `,engine="triton",engine_version="unknown",pool_id=`
	half, _, _ := strings.Cut(tritonPage, "# HELP nv_gpu_utilization")
	// Long enough for a valid response on a busy machine.
	impatient := func(p *config.Pool) { p.ScrapeTimeout = model.Duration(5 * time.Second) }
	small := func(p *config.Pool) { p.Limits.Page.Body = 1 << 20 }
	return []faultCase{
		{
			name:    "T01 accept, then silence",
			page:    faultyPage(simulate.FaultHang),
			reason:  scrape.ReasonTimeout,
			prepare: impatient,
		},
		{
			name:    "T03 a byte at a time",
			page:    faultyPage(simulate.FaultTrickle),
			reason:  scrape.ReasonTimeout,
			prepare: impatient,
		},
		{name: "T07 reset in the body", page: faultyPage(simulate.FaultResetBody), reason: scrape.ReasonReset},
		{name: "T08 end before the headers", page: rawResponse(""), reason: scrape.ReasonReset},
		{name: "T20 redirect to itself", page: faultyPage(simulate.FaultRedirect), reason: scrape.ReasonRedirect},
		{
			name: "T22 status 500 and a long body",
			page: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, strings.Repeat("<p>", 1<<18))
			},
			reason: scrape.ReasonHTTPStatus,
		},
		{name: "T24 banner of SSH", page: rawResponse("SSH-2.0-OpenSSH_9.6\r\n"), reason: scrape.ReasonProtocol},
		{
			name: "T26 no keep-alive",
			page: func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Connection", "close")
				body(tritonPage)(w, req)
			},
			shows: []string{targetSeries("target_up", "T26", "bad") + " 1"},
		},
		{
			name:    "B01 endless body",
			page:    endless,
			reason:  scrape.ReasonBodyTooLarge,
			prepare: small,
			shows:   []string{targetSeries("target_body_bytes", "B01", "bad") + " -1"},
		},
		{
			name:    "B02 gzip bomb",
			page:    encoded(zipped(strings.Repeat("# 0000000\n", 1<<18))),
			reason:  scrape.ReasonBodyTooLarge,
			prepare: small,
		},
		{name: "B03 half a gzip", page: encoded(zipped(tritonPage)[:200]), reason: scrape.ReasonDecompress},
		{
			name:   "B09 no last chunk",
			page:   rawResponse(ok + "Transfer-Encoding: chunked" + end + "4\r\na 1\n\r\n"),
			reason: scrape.ReasonTruncated,
		},
		{name: "B12 empty 200", page: body(""), reason: scrape.ReasonEmpty},
		{
			name: "B13 HTML",
			page: bodyOfType(
				"text/html; charset=utf-8", "<!DOCTYPE html>\n<html><body>Please sign in.</body></html>\n",
			),
			reason: scrape.ReasonContentType,
		},
		{
			name:    "B18 too many samples",
			page:    body(pageOfSeries(1001)),
			reason:  scrape.ReasonSampleLimit,
			prepare: func(p *config.Pool) { p.Limits.Series.Samples = 1000 },
		},
		{name: "B21 binary", page: faultyPage(simulate.FaultBinary), reason: scrape.ReasonParse},
		{
			name:   "B22 cut at a line end without framing",
			page:   rawResponse("HTTP/1.0 200 OK\r\nContent-Type: text/plain" + end + half),
			reason: scrape.ReasonTruncated,
		},
		{
			name:    "B23 more than the output may have",
			page:    body(pageWith("# TYPE nv_b23 gauge", strings.ReplaceAll(pageOfSeries(200), "a{", "nv_b23{"))),
			prepare: func(p *config.Pool) { p.Limits.Output.Series = 200 },
			shows: []string{
				targetSeries("target_series_left_out", "B23", "bad") + " 200",
				`llm_server_state{engine="triton",engine_version="unknown",pool_id="B23"`,
				`nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",` +
					`model_id="ensemble",pool_id="B23"`,
			},
			hides: []string{"nv_b23"},
		},
		{
			name:    "S01 a series twice",
			page:    body(pageWith(`nv_s01{a="1"} 1`, `nv_s01{a="1"} 2`)),
			dropped: exposition.DropDuplicate,
			shows:   []string{`nv_s01{a="1"` + us + `"S01",replica_id="bad",trtllm_version="unknown"} 1`},
			hides:   []string{`nv_s01{a="1"` + us + `"S01",replica_id="bad",trtllm_version="unknown"} 2`},
		},
		{
			name: "S11 an infinite counter",
			page: body(pageWith(`nv_inference_request_success{model="x",version="1"} +Inf`)),
			shows: []string{
				targetSeriesByReason("target_derived_skipped_total", "S11", "nonfinite", "bad"),
			},
		},
		{
			name: "S16 an executor without counts",
			page: body(pageWith(
				"# TYPE nv_trt_llm_request_metrics gauge",
				`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 0`,
				`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 0`,
				"# TYPE nv_trt_llm_general_metrics gauge",
				`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} 0`,
			)),
			shows: []string{`pool_id="S16",replica_id="bad",state="not_ready",trtllm_version="unknown"} 0`},
		},
		{
			name: "L01 the page speaks as another pool",
			page: body(pageWith(`nv_l01{pool_id="A00",replica_id="h0"} 666`)),
			shows: []string{
				`nv_l01{engine="triton",engine_version="unknown",exported_pool_id="A00",exported_replica_id="h0",` +
					`pool_id="L01",replica_id="bad",trtllm_version="unknown"} 666`,
			},
			hides: []string{`nv_l01{pool_id="A00"`},
		},
		{
			name:    "L04 a label twice",
			page:    body(pageWith(`nv_l04{x="1",x="2"} 1`)),
			dropped: exposition.DropInvalidLabels,
			hides:   []string{"nv_l04"},
		},
		{name: "L08 a name of UTF-8", page: body(pageWith(`{"nv.l08",a="1"} 1`)), shows: []string{`"L08"`}},
		{
			name:    "L10 our own names",
			page:    body(pageWith(`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 0`, `llm_server_ready 0`)),
			dropped: exposition.DropReservedName,
			hides:   []string{targetSeries("target_up", "A00", "h0") + " 0"},
		},
	}
}

// pageWith returns tritonPage with more lines.
func pageWith(lines ...string) string { return tritonPage + strings.Join(lines, "\n") + "\n" }

// zipped returns the page compressed with gzip.
func zipped(page string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, page)
	_ = w.Close()
	return b.String()
}

// encoded answers with a body that is declared as gzip.
func encoded(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, body)
	}
}

// endless sends comments until the client disconnects.
func endless(w http.ResponseWriter, _ *http.Request) {
	block := []byte(strings.Repeat("# endless\n", 6554))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// id returns the pool of the case's target.
func (c *faultCase) id() string {
	id, _, _ := strings.Cut(c.name, " ")
	return id
}

// missing returns what is missing on the page while the target is faulty.
func (c *faultCase) missing(page string) string {
	id, up := c.id(), 1.0
	if c.reason != "" {
		up = 0
		if value(page, targetSeriesByReason("target_scrape_failures_total", id, string(c.reason), "bad")) < 1 {
			return c.name + ": a failure for reason " + string(c.reason)
		}
		if rawLines(page, id) != "" {
			return c.name + ": absence of the failed target's series"
		}
	}
	if c.dropped != "" && value(page, targetSeriesByReason("target_series_dropped_total", id, c.dropped, "bad")) < 1 {
		return c.name + ": series dropped for reason " + c.dropped
	}
	if value(page, targetSeries("target_up", id, "bad")) != up {
		return fmt.Sprintf("%s: target_up %v", c.name, up)
	}
	for _, text := range c.shows {
		if !strings.Contains(page, text) {
			return c.name + ": " + text
		}
	}
	for _, text := range c.hides {
		if strings.Contains(page, text) {
			return c.name + ": absence of " + text
		}
	}
	return ""
}

// faultPollInterval is the time between two reads of the page, and the scrape interval of
// faulty targets.
const faultPollInterval = 150 * time.Millisecond

// everyFault reports whether tests that take minutes run too.
func everyFault() bool { return os.Getenv("FAULTS") != "" }

func TestFaultsDoNotAffectOtherTargets(t *testing.T) {
	t.Parallel()
	casesPerRun := 5
	if everyFault() {
		casesPerRun = 1
	}
	for cases := range slices.Chunk(faultCases(), casesPerRun) {
		t.Run(cases[0].name, func(t *testing.T) {
			t.Parallel()
			runFaults(t, cases)
		})
	}
}

// runFaults makes targets faulty next to two pools of healthy ones, the first and the
// last on the page, then heals them, and checks every page meanwhile.
func runFaults(t *testing.T, cases []faultCase) {
	t.Helper()
	healthyPools := []string{"A00", "Z99"}
	var pools []config.Pool
	for _, id := range healthyPools {
		pools = append(pools, metricsPool(id, "h0="+newFakeServer(t).pageAndAPI(), "h1="+newFakeServer(t).pageAndAPI()))
	}
	servers, ids := make([]*fakeServer, len(cases)), make([]string, len(cases))
	for i := range cases {
		servers[i], ids[i] = newFakeServer(t), cases[i].id()
		p := metricsPool(ids[i], "bad="+servers[i].pageAndAPI())
		p.ScrapeInterval = model.Duration(faultPollInterval)
		if cases[i].prepare != nil {
			cases[i].prepare(&p)
		}
		pools = append(pools, p)
	}
	tc := startCollector(t, pools...)
	const before = "All targets are up before the faults"
	healthy := tc.pollPageEvery(faultPollInterval, before, nil, func(page string) string {
		if missing := incompletePool(page, 2, healthyPools...); missing != "" {
			return missing
		}
		return incompletePool(page, 1, ids...)
	})
	check := func(page string) {
		for _, id := range healthyPools {
			requireSame(t, rawLines(healthy, id), rawLines(page, id), "series of healthy targets")
			for _, name := range []string{"h0", "h1"} {
				require.InDelta(t, 1, value(page, targetSeries("target_up", id, name)), 0)
			}
		}
		requireSame(t, metadataLines(healthy), metadataLines(page), "HELP and TYPE of their families")
	}
	for i := range cases {
		servers[i].setPage(cases[i].page)
	}
	tc.pollPageEvery(faultPollInterval, "Every fault shows", check, func(page string) string {
		for i := range cases {
			if missing := cases[i].missing(page); missing != "" {
				return missing
			}
		}
		return ""
	})
	for _, s := range servers {
		s.setPage(nil)
	}
	tc.pollPageEvery(faultPollInterval, "Every target is back", check, func(page string) string {
		for i, id := range ids {
			if rawLines(page, id) != rawLines(healthy, id) {
				return "the healed page of " + cases[i].name
			}
		}
		return ""
	})
}

// The exporter rejects its own page as a target.
func TestL11SelfScrape(t *testing.T) {
	t.Parallel()
	self := newFakeServer(t)
	tc := startCollector(
		t, metricsPool("A00", "h0="+newFakeServer(t).pageAndAPI()), metricsPool("L11", "bad="+self.pageAndAPI()),
		pool("L11-auto", "bad="+self.pageAndAPI()),
	)
	page := tc.waitForText(`trtllm_exporter_target_up{pool_id="L11",replica_id="bad"} 1`)
	mirrored := tc.ownMetrics() + page
	self.setPage(body(mirrored))
	tc.waitForText(
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11",reason="self_scrape",replica_id="bad"}`,
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11-auto",reason="self_scrape",replica_id="bad"}`,
		`trtllm_exporter_target_up{pool_id="L11",replica_id="bad"} 0`,
		`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 1`,
	)
	// A page of ours that was there from the start is recognized too.
	tc.apply(metricsPool("A00", "h0="+newFakeServer(t).pageAndAPI()), pool("L11-fresh", "bad="+self.pageAndAPI()))
	tc.waitForText(
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11-fresh",reason="self_scrape",replica_id="bad"}`,
	)
	self.setPage(body(tc.ownMetrics()))
	tc.apply(metricsPool("A00", "h0="+newFakeServer(t).pageAndAPI()), pool("L11-bare", "bad="+self.pageAndAPI()))
	tc.waitForText(
		`trtllm_exporter_target_scrape_failures_total{pool_id="L11-bare",reason="self_scrape",replica_id="bad"}`,
	)
}
