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

// faultCase is a case of docs/dev/faults.md: a target that goes wrong among others that
// do not.
type faultCase struct {
	// name begins with the code of the case.
	name string
	// play answers for the target while it is faulty.
	play http.HandlerFunc
	// reason is why its scrape fails; empty if it does not.
	reason scrape.Reason
	// dropped is why series of a good scrape are dropped.
	dropped string
	// shows must be on the page, hides must not.
	shows, hides []string
	// prepare changes the pool of the target.
	prepare func(*config.Pool)
}

// faultCases has a case for each kind of consequence; the tests of packages scrape and
// exposition have the others.
func faultCases() []faultCase {
	const ok, end = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", "\r\n\r\n"
	const us = `,engine="triton",engine_version="unknown",pool_id=`
	half, _, _ := strings.Cut(tritonPage, "# HELP nv_gpu_utilization")
	// Long enough for a good answer of a busy machine.
	impatient := func(p *config.Pool) { p.ScrapeTimeout = model.Duration(time.Second) }
	small := func(p *config.Pool) { p.Limits.Page.Body = 1 << 20 }
	return []faultCase{
		{name: "T01 accept, then silence", play: faulty(simulate.FaultHang), reason: scrape.ReasonTimeout, prepare: impatient},
		{name: "T03 a byte at a time", play: faulty(simulate.FaultTrickle), reason: scrape.ReasonTimeout, prepare: impatient},
		{name: "T07 reset in the body", play: faulty(simulate.FaultResetBody), reason: scrape.ReasonReset},
		{name: "T08 end before the headers", play: wire(""), reason: scrape.ReasonReset},
		{name: "T20 redirect to itself", play: faulty(simulate.FaultRedirect), reason: scrape.ReasonRedirect},
		{name: "T22 status 500 and a long body", play: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat("<p>", 1<<18))
		}, reason: scrape.ReasonHTTPStatus},
		{name: "T24 banner of SSH", play: wire("SSH-2.0-OpenSSH_9.6\r\n"), reason: scrape.ReasonProtocol},
		{name: "T26 no keep-alive", play: func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Connection", "close")
			body(tritonPage)(w, req)
		}, shows: []string{own("target_up", "T26", "bad") + " 1"}},
		{name: "B01 endless body", play: endless, reason: scrape.ReasonBodyTooLarge, prepare: small, shows: []string{own("target_body_bytes", "B01", "bad") + " -1"}},
		{name: "B02 gzip bomb", play: encoded(zipped(strings.Repeat("# 0000000\n", 1<<18))), reason: scrape.ReasonBodyTooLarge, prepare: small},
		{name: "B03 half a gzip", play: encoded(zipped(tritonPage)[:200]), reason: scrape.ReasonDecompress},
		{name: "B09 no last chunk", play: wire(ok + "Transfer-Encoding: chunked" + end + "4\r\na 1\n\r\n"), reason: scrape.ReasonTruncated},
		{name: "B12 empty 200", play: body(""), reason: scrape.ReasonEmpty},
		{name: "B13 HTML", play: typed("text/html; charset=utf-8", "<!DOCTYPE html>\n<html><body>Please sign in.</body></html>\n"), reason: scrape.ReasonContentType},
		{
			name: "B18 too many samples", play: body(repeated(1001)), reason: scrape.ReasonSampleLimit,
			prepare: func(p *config.Pool) { p.Limits.Series.Samples = 1000 },
		},
		{name: "B21 binary", play: faulty(simulate.FaultBinary), reason: scrape.ReasonParse},
		{name: "B22 cut at a line end without framing", play: wire("HTTP/1.0 200 OK\r\nContent-Type: text/plain" + end + half), reason: scrape.ReasonTruncated},
		{
			name: "B23 more than the output may have", play: body(more("# TYPE nv_b23 gauge", strings.ReplaceAll(repeated(200), "a{", "nv_b23{"))),
			prepare: func(p *config.Pool) { p.Limits.Output.Series = 200 },
			shows: []string{
				own("target_series_left_out", "B23", "bad") + " 200", `llm_server_state{engine="triton",engine_version="unknown",pool_id="B23"`,
				`nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="B23"`,
			},
			hides: []string{"nv_b23"},
		},
		{
			name: "S01 a series twice", play: body(more(`nv_s01{a="1"} 1`, `nv_s01{a="1"} 2`)), dropped: exposition.DropDuplicate,
			shows: []string{`nv_s01{a="1"` + us + `"S01",replica_id="bad",trtllm_version="unknown"} 1`},
			hides: []string{`nv_s01{a="1"` + us + `"S01",replica_id="bad",trtllm_version="unknown"} 2`},
		},
		{name: "S11 an infinite counter", play: body(more(`nv_inference_request_success{model="x",version="1"} +Inf`)), shows: []string{
			reasoned("target_derived_skipped_total", "S11", "nonfinite", "bad"),
		}},
		{name: "S16 an executor that counts nothing", play: body(more(
			"# TYPE nv_trt_llm_request_metrics gauge", `nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 0`,
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 0`,
			"# TYPE nv_trt_llm_general_metrics gauge", `nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} 0`,
		)), shows: []string{`pool_id="S16",replica_id="bad",state="stalled",trtllm_version="unknown"} 0`}},
		{
			name: "L01 the page speaks as another pool", play: body(more(`nv_l01{pool_id="A00",replica_id="h0"} 666`)),
			shows: []string{`nv_l01{engine="triton",engine_version="unknown",exported_pool_id="A00",exported_replica_id="h0",pool_id="L01",replica_id="bad",trtllm_version="unknown"} 666`},
			hides: []string{`nv_l01{pool_id="A00"`},
		},
		{name: "L04 a label twice", play: body(more(`nv_l04{x="1",x="2"} 1`)), dropped: exposition.DropInvalidLabels, hides: []string{"nv_l04"}},
		{name: "L08 a name of UTF-8", play: body(more(`{"nv.l08",a="1"} 1`)), shows: []string{`"L08"`}},
		{
			name: "L10 our own names", play: body(more(`trtllm_exporter_target_up{pool_id="A00",replica_id="h0"} 0`, `llm_server_ready 0`)),
			dropped: exposition.DropReservedName, hides: []string{own("target_up", "A00", "h0") + " 0"},
		},
	}
}

// more returns the good page with lines behind it.
func more(lines ...string) string { return tritonPage + strings.Join(lines, "\n") + "\n" }

// zipped returns the page as gzip.
func zipped(page string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, page)
	_ = w.Close()
	return b.String()
}

// encoded answers with a body that says it is gzip.
func encoded(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, body)
	}
}

// endless sends comments until nobody listens.
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

// missing returns what the page lacks while the target is faulty.
func (c *faultCase) missing(page string) string {
	id, up := c.id(), 1.0
	if c.reason != "" {
		up = 0
		if value(page, reasoned("target_scrape_failures_total", id, string(c.reason), "bad")) < 1 {
			return c.name + ": a failure for reason " + string(c.reason)
		}
		if rawLines(page, id) != "" {
			return c.name + ": absence of the failed target's series"
		}
	}
	if c.dropped != "" && value(page, reasoned("target_series_dropped_total", id, c.dropped, "bad")) < 1 {
		return c.name + ": series dropped for reason " + c.dropped
	}
	if value(page, own("target_up", id, "bad")) != up {
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

// lookEvery is the time between two looks at the page, as long as between two scrapes of
// faulty targets.
const lookEvery = 150 * time.Millisecond

// everyFault reports whether what takes minutes is tested too.
func everyFault() bool { return os.Getenv("FAULTS") != "" }

func TestFaultsDoNotAffectOtherTargets(t *testing.T) {
	t.Parallel()
	together := 5
	if everyFault() {
		together = 1
	}
	for cases := range slices.Chunk(faultCases(), together) {
		t.Run(cases[0].name, func(t *testing.T) {
			t.Parallel()
			runFaults(t, cases)
		})
	}
}

// runFaults lets targets go wrong next to two pools of healthy ones, one before and one
// behind them on the page, and then heals them, looking at every page on the way.
func runFaults(t *testing.T, cases []faultCase) {
	t.Helper()
	healthyPools := []string{"A00", "Z99"}
	var pools []config.Pool
	for _, id := range healthyPools {
		pools = append(pools, staged(id, "h0="+newStage(t).host(), "h1="+newStage(t).host()))
	}
	stages, ids := make([]*stage, len(cases)), make([]string, len(cases))
	for i := range cases {
		stages[i], ids[i] = newStage(t), cases[i].id()
		p := staged(ids[i], "bad="+stages[i].host())
		p.ScrapeInterval = model.Duration(lookEvery)
		if cases[i].prepare != nil {
			cases[i].prepare(&p)
		}
		pools = append(pools, p)
	}
	l := startLine(t, pools...)
	healthy := l.untilEvery(lookEvery, "All targets are up before the faults", nil, func(page string) string {
		if missing := lacking(page, 2, healthyPools...); missing != "" {
			return missing
		}
		return lacking(page, 1, ids...)
	})
	check := func(page string) {
		for _, id := range healthyPools {
			requireSame(t, rawLines(healthy, id), rawLines(page, id), "series of healthy targets")
			for _, name := range []string{"h0", "h1"} {
				require.InDelta(t, 1, value(page, own("target_up", id, name)), 0)
			}
		}
		requireSame(t, heads(healthy), heads(page), "HELP and TYPE of their families")
	}
	for i := range cases {
		stages[i].play(cases[i].play)
	}
	l.untilEvery(lookEvery, "Every fault shows", check, func(page string) string {
		for i := range cases {
			if missing := cases[i].missing(page); missing != "" {
				return missing
			}
		}
		return ""
	})
	for _, s := range stages {
		s.play(nil)
	}
	l.untilEvery(lookEvery, "Every target is back", check, func(page string) string {
		for i, id := range ids {
			if rawLines(page, id) != rawLines(healthy, id) {
				return "the healed page of " + cases[i].name
			}
		}
		return ""
	})
}

// The exporter does not take its own page for that of a server.
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
	// A page of ours that was there from the start is recognized too.
	l.apply(staged("A00", "h0="+newStage(t).host()), pool("L11-fresh", "bad="+mirror.host()))
	l.eventually(`trtllm_exporter_target_scrape_failures_total{pool_id="L11-fresh",reason="self_scrape",replica_id="bad"}`)
	mirror.play(body(l.self()))
	l.apply(staged("A00", "h0="+newStage(t).host()), pool("L11-bare", "bad="+mirror.host()))
	l.eventually(`trtllm_exporter_target_scrape_failures_total{pool_id="L11-bare",reason="self_scrape",replica_id="bad"}`)
}
