package collector_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestFaultsOfTransport(t *testing.T) {
	t.Parallel()
	// Long enough for a good answer of a busy machine.
	const short = time.Second
	runFaults(t, []faultCase{
		{name: "T01 accept, then silence", play: faulty(simulate.FaultHang), reason: scrape.ReasonTimeout, prepare: timeout(short)},
		{name: "T02 headers, then silence", play: faulty(simulate.FaultHangBody), reason: scrape.ReasonTimeout, prepare: timeout(short)},
		{name: "T03 trickle", play: faulty(simulate.FaultTrickle), reason: scrape.ReasonTimeout, prepare: timeout(short)},
		{name: "T04 slow, but well", play: slow(120 * time.Millisecond), shows: []string{`nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="T04"`}},
		{name: "T07 reset in the body", play: faulty(simulate.FaultResetBody), reason: scrape.ReasonReset},
		{name: "T08 end before the headers", play: wire(""), reason: scrape.ReasonReset},
		{name: "T08-reset", play: faulty(simulate.FaultReset), reason: scrape.ReasonReset},
		{name: "T19 redirect to another host", play: func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://127.0.0.2:1/metrics", http.StatusFound)
		}, reason: scrape.ReasonRedirect},
		{
			name: "T20 redirect to itself", play: faulty(simulate.FaultRedirect), reason: scrape.ReasonRedirect,
			prepare: func(p *config.Pool) { p.HTTP.FollowRedirects = true },
		},
		{name: "T22 status 500 and a long body", play: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat("<p>", 1<<18))
		}, reason: scrape.ReasonHTTPStatus},
		{name: "T22-503", play: status(http.StatusServiceUnavailable), reason: scrape.ReasonHTTPStatus},
		{name: "T22-404", play: http.NotFound, reason: scrape.ReasonHTTPStatus},
		{name: "T22-401", play: status(http.StatusUnauthorized), reason: scrape.ReasonHTTPStatus},
		{name: "T23-204", play: status(http.StatusNoContent), reason: scrape.ReasonHTTPStatus},
		{name: "T23-206", play: status(http.StatusPartialContent), reason: scrape.ReasonHTTPStatus},
		{name: "T23-304", play: status(http.StatusNotModified), reason: scrape.ReasonHTTPStatus},
		{name: "T24 banner of SSH", play: wire("SSH-2.0-OpenSSH_9.6\r\n"), reason: scrape.ReasonProtocol},
		{name: "T26 connections that end when idle", play: func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Connection", "close")
			body(tritonPage)(w, req)
		}, shows: []string{`trtllm_exporter_target_up{pool_id="T26",replica_id="bad"} 1`}},
	})
}

// zipped is the page as gzip.
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

// cutElsewhere answers with the good page, cut at the end of another line each
// time, so that it never ends at one place six times in a row.
func cutElsewhere(head string) http.HandlerFunc {
	lines := strings.SplitAfter(tritonPage, "\n")
	var asked atomic.Int64
	return func(w http.ResponseWriter, req *http.Request) {
		wire(head+strings.Join(lines[:12+asked.Add(1)%3], ""))(w, req)
	}
}

func TestFaultsOfBodies(t *testing.T) {
	t.Parallel()
	small := limits(func(c *config.Limits) { c.Page.Body = 1 << 20 })
	const ok, end = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", "\r\n\r\n"
	half, _, _ := strings.Cut(tritonPage, "# HELP nv_gpu_utilization")
	unended := strings.TrimSuffix(tritonPage, "\n")
	runFaults(t, []faultCase{
		{name: "B01 endless body", play: endless, reason: scrape.ReasonBodyTooLarge, prepare: small, shows: []string{
			`trtllm_exporter_target_body_bytes{pool_id="B01",replica_id="bad"} -1`,
		}},
		{name: "B02 gzip bomb", play: encoded(zipped(strings.Repeat("# 0000000\n", 1<<18))), reason: scrape.ReasonBodyTooLarge, prepare: small},
		{name: "B03 half a gzip", play: encoded(zipped(tritonPage)[:200]), reason: scrape.ReasonDecompress},
		{name: "B04 gzip with a tail", play: encoded(zipped(tritonPage) + "x"), reason: scrape.ReasonDecompress},
		{name: "B05 gzip that is plain", play: encoded(tritonPage), reason: scrape.ReasonDecompress},
		{name: "B06 plain that is gzip", play: body(zipped(tritonPage)), reason: scrape.ReasonParse},
		{name: "B07 long headers", play: func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Filler", strings.Repeat("x", 80<<10))
			body(tritonPage)(w, req)
		}, reason: scrape.ReasonHeadersTooLarge},
		{name: "B08 less than Content-Length", play: faulty(simulate.FaultTruncated), reason: scrape.ReasonTruncated},
		{name: "B09 no last chunk", play: wire(ok + "Transfer-Encoding: chunked" + end + "4\r\na 1\n\r\n"), reason: scrape.ReasonTruncated},
		{name: "B10 cut without framing", play: wire("HTTP/1.0 200 OK\r\nContent-Type: text/plain" + end + unended), reason: scrape.ReasonTruncated},
		{name: "B11 whole, without a last newline", play: body(unended), shows: []string{
			`nv_inference_request_summary_us{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="B11"`,
		}},
		{name: "B12 empty 200", play: body(""), reason: scrape.ReasonEmpty},
		{name: "B13 HTML", play: typed("text/html; charset=utf-8", "<!DOCTYPE html>\n<html><body>Please sign in.</body></html>\n"), reason: scrape.ReasonContentType},
		{name: "B13-octets", play: typed("application/octet-stream", tritonPage), reason: scrape.ReasonContentType},
		{name: "B14 JSON", play: typed("application/json", `{"detail":"Not Found"}`), reason: scrape.ReasonContentType},
		{name: "B15 no content type", play: typed("", tritonPage), shows: []string{`trtllm_exporter_target_up{pool_id="B15",replica_id="bad"} 1`}},
		{name: "B12-openmetrics a page without samples that says it is whole", play: typed("application/openmetrics-text; version=1.0.0", "# TYPE a gauge\n# EOF\n")},
		{name: "B16 OpenMetrics without end", play: typed("application/openmetrics-text; version=1.0.0", "# TYPE a gauge\na 1\n"), reason: scrape.ReasonParse},
		{name: "B17 one long line", play: body(`a{b="` + strings.Repeat("x", 1<<19) + "\"} 1\n"), reason: scrape.ReasonLabelLimit},
		{name: "B18 too many samples", play: body(repeated(1001)), reason: scrape.ReasonSampleLimit, prepare: limits(func(c *config.Limits) {
			c.Series.Samples = 1000
		})},
		{name: "B19 line ends of Windows", play: body(strings.ReplaceAll(tritonPage, "\n", "\r\n")), reason: scrape.ReasonParse},
		{name: "B20 cut in a value", play: body(tritonPage + "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 1234"), shows: []string{
			`pool_id="B20",replica_id="bad",trtllm_version="unknown"} 1234`,
		}},
		{name: "B20-cut", play: body(tritonPage[:len(tritonPage)-7]), reason: scrape.ReasonParse},
		{
			name: "B22 cut at a line end without framing", reason: scrape.ReasonTruncated,
			play: wire("HTTP/1.0 200 OK\r\nContent-Type: text/plain" + end + half),
		},
		{
			name: "B22-close", play: cutElsewhere(ok + "Connection: close" + end), reason: scrape.ReasonTruncated,
			// One of them may be taken, and its histogram is not whole.
			untypes: "nv_inference_first_response_histogram_ms",
		},
		{
			name: "B23 a page that takes more of the output than it may", play: body(more("# TYPE nv_b23 gauge", strings.ReplaceAll(repeated(200), "a{", "nv_b23{"))),
			prepare: limits(func(c *config.Limits) { c.Output.Series = 200 }),
			shows: []string{
				`trtllm_exporter_target_series_left_out{pool_id="B23",replica_id="bad"} 200`, `llm_server_state{engine="triton",engine_version="unknown",pool_id="B23"`,
				`nv_inference_count{engine="triton",engine_version="unknown",model="ensemble",model_id="ensemble",pool_id="B23"`,
			},
			hides: []string{"nv_b23"},
		},
		{
			name: "B24 a HELP that is too long", play: body(more("# HELP nv_b24 "+strings.Repeat("help ", 1000), "nv_b24 1")),
			shows: []string{"# HELP nv_b24 " + strings.Repeat("help ", 204) + "h...\n", `nv_b24{engine="triton",engine_version="unknown",pool_id="B24"`},
		},
		{name: "B21-binary", play: faulty(simulate.FaultBinary), reason: scrape.ReasonParse},
		{name: "B21-bad-line", play: body(half + "this is { not a sample\n"), reason: scrape.ReasonParse},
	})
}

// The simulator's largest answers, with the limits as they are by default.
func TestFaultsOfSize(t *testing.T) {
	t.Parallel()
	rarely := func(p *config.Pool) { p.ScrapeInterval = model.Duration(time.Second) }
	runFaults(t, []faultCase{
		{name: "B02-bomb", play: faulty(simulate.FaultGzipBomb), reason: scrape.ReasonBodyTooLarge, prepare: rarely, times: 1},
		{name: "B17-long-line", play: faulty(simulate.FaultLongLine), reason: scrape.ReasonBodyTooLarge, prepare: rarely, times: 1},
	})
}
