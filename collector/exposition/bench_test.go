package exposition_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// benchPages are two pages by their number of samples.
var benchPages = []struct {
	samples int
	kind    simulate.BenchKind
}{{226, simulate.BenchTRTLLM}, {377, simulate.BenchSummaries}}

// ticks is the number of different bodies of a target.
const ticks = 4

// benchTarget is one target of a benchmark.
type benchTarget struct {
	bodies [ticks][]byte
	label  *exposition.Labeler
	cache  *exposition.Cache
	block  *exposition.Block
}

// benchTargets returns n targets that differ in replica_id and values, scraped once.
func benchTargets(tb testing.TB, kind simulate.BenchKind, n int) []*benchTarget {
	tb.Helper()
	all := make([]*benchTarget, n)
	for i := range all {
		t := &benchTarget{label: new(labelReplica("r" + strconv.Itoa(i)))}
		for tick := range t.bodies {
			t.bodies[tick] = simulate.BenchPage(kind, i, tick)
		}
		t.cache = exposition.NewCache(exposition.Options{Limits: exposition.DefaultLimits})
		require.NoError(tb, t.scrape(0))
		all[i] = t
	}
	return all
}

// labelReplica attaches the six identity labels of one replica.
func labelReplica(replica string) exposition.Labeler {
	builder := labels.NewBuilder(labels.EmptyLabels())
	return func(lset labels.Labels) exposition.Labeled {
		builder.Reset(lset)
		builder.Set("engine", "triton").Set("engine_version", "2.64.0").Set("trtllm_version", "1.1.0")
		builder.Set("pool_id", "llama-70b-prod").Set("replica_id", replica).Set("model_id", "llama-70b")
		return exposition.Labeled{Labels: builder.Labels(), Keep: true}
	}
}

// scrape parses the body of one tick.
func (t *benchTarget) scrape(tick int) error {
	block, err := t.cache.Parse(t.bodies[tick%ticks], "text/plain; charset=utf-8", t.label)
	t.block = block
	return err
}

// perSample calls do with growing numbers and reports its time per sample.
func perSample(b *testing.B, samples int, do func(i int) error) {
	b.Helper()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := do(i); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(samples), "ns/sample")
}

// BenchmarkIngest parses one body into a block or, with the libraries, to written text. Run with
//
//	go test -run '^$' -bench Ingest -benchmem -count 6 ./collector/exposition
func BenchmarkIngest(b *testing.B) {
	for _, page := range benchPages {
		samples := fmt.Sprintf("samples=%d", page.samples)
		for _, targets := range []int{1, 64, 1000} {
			b.Run(fmt.Sprintf("path=fast/%s/targets=%d", samples, targets), func(b *testing.B) {
				benchmarkFast(b, benchTargets(b, page.kind, targets), page.samples)
			})
		}
		b.Run("path=slow/"+samples, func(b *testing.B) { benchmarkSlow(b, page.kind, page.samples) })
		b.Run("path=textparse/"+samples, func(b *testing.B) { benchmarkTextparse(b, page.kind, page.samples) })
		b.Run("path=expfmt/"+samples, func(b *testing.B) { benchmarkExpfmt(b, page.kind, page.samples) })
	}
}

func benchmarkFast(b *testing.B, targets []*benchTarget, samples int) {
	b.Helper()
	perSample(b, samples, func(i int) error { return targets[i%len(targets)].scrape(i/len(targets) + 1) })
	for _, t := range targets {
		require.True(b, t.cache.Fast(string(t.bodies[0])), "the last page was read the fast way")
	}
}

func benchmarkSlow(b *testing.B, kind simulate.BenchKind, samples int) {
	b.Helper()
	t := benchTargets(b, kind, 1)[0]
	perSample(b, samples, func(i int) error {
		t.label = new(*t.label)
		return t.scrape(i)
	})
}

// benchmarkTextparse measures an exporter on Prometheus' parser: labels of each series,
// identity, text.
func benchmarkTextparse(b *testing.B, kind simulate.BenchKind, samples int) {
	b.Helper()
	t := benchTargets(b, kind, 1)[0]
	symbols := labels.NewSymbolTable()
	var out []byte
	perSample(b, samples, func(i int) error {
		out = out[:0]
		return eachReading(
			textparse.NewPromParser(t.bodies[i%ticks], symbols, false),
			func(lset labels.Labels, v float64) {
				out = append(out, (*t.label)(lset).Labels.String()...)
				out = append(exposition.AppendFloat(append(out, ' '), v), '\n')
			},
		)
	})
}

// benchmarkExpfmt measures an exporter on the parser of client_golang: messages,
// identity, text.
func benchmarkExpfmt(b *testing.B, kind simulate.BenchKind, samples int) {
	b.Helper()
	t := benchTargets(b, kind, 1)[0]
	var out bytes.Buffer
	perSample(b, samples, func(i int) error {
		out.Reset()
		mfs, err := messages(t.bodies[i%ticks], "r0")
		for _, mf := range mfs {
			if _, err := expfmt.MetricFamilyToText(&out, mf); err != nil {
				return err
			}
		}
		return err
	})
}

// messages returns a body as messages with the identity labels.
func messages(body []byte, replica string) ([]*dto.MetricFamily, error) {
	p := expfmt.NewTextParser(model.LegacyValidation)
	mfs, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	var all []*dto.MetricFamily
	pairs := []*dto.LabelPair{
		{Name: new("engine"), Value: new("triton")},
		{Name: new("engine_version"), Value: new("2.64.0")},
		{Name: new("model_id"), Value: new("llama-70b")},
		{Name: new("pool_id"), Value: new("llama-70b-prod")},
		{Name: new("replica_id"), Value: new(replica)},
		{Name: new("trtllm_version"), Value: new("1.1.0")},
	}
	for _, mf := range mfs {
		for _, m := range mf.Metric {
			m.Label = append(m.Label, pairs...)
			slices.SortFunc(m.Label, func(x, y *dto.LabelPair) int {
				return bytes.Compare([]byte(x.GetName()), []byte(y.GetName()))
			})
		}
		all = append(all, mf)
	}
	return all, nil
}

// BenchmarkPage writes the merged page of many targets of 226 samples.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{1, 64, 1000} {
		for _, coding := range []exposition.Encoding{exposition.Identity, exposition.Gzip, exposition.Zstd} {
			name := "plain"
			if coding != exposition.Identity {
				name = string(coding)
			}
			b.Run(fmt.Sprintf("way=ours/targets=%d/coding=%s", n, name), func(b *testing.B) {
				benchmarkPage(b, n, 0, "", coding)
			})
			if n > 1 {
				b.Run(fmt.Sprintf("way=changing/targets=%d/coding=%s", n, name), func(b *testing.B) {
					benchmarkPage(b, n, 1, "{\"a.b\"} 1\n", coding)
				})
			}
			b.Run(fmt.Sprintf("way=gatherers/targets=%d/coding=%s", n, name), func(b *testing.B) {
				benchmarkGatherers(b, n, coding)
			})
		}
	}
}

// benchmarkPage writes pages whose values all differ from the previous page, every other one
// without some targets. The page of each target ends with the line.
func benchmarkPage(b *testing.B, n, gone int, line string, coding exposition.Encoding) {
	b.Helper()
	var (
		all    [ticks][]*exposition.Block
		merger exposition.Merger
		size   countingWriter
	)
	for _, t := range benchTargets(b, simulate.BenchTRTLLM, n) {
		for tick := range all {
			t.bodies[tick] = append(t.bodies[tick], line...)
			require.NoError(b, t.scrape(tick))
			all[tick] = append(all[tick], t.block)
		}
	}
	merger.Escaped(all[0], model.UnderscoreEscaping)
	perSample(b, n*226, func(i int) error {
		size = 0
		blocks := all[i%ticks][i%2*gone:]
		l := merger.Escaped(blocks, model.UnderscoreEscaping)
		if coding != exposition.Identity {
			_, err := l.Compress(&size, coding, blocks, nil)
			return err
		}
		if l.TextLength(blocks, nil) == 0 {
			b.Fatal("empty page")
		}
		return l.WriteText(&size, blocks, nil)
	})
	b.ReportMetric(float64(size), "bytes/page")
	plain := merger.Escaped(all[0], model.UnderscoreEscaping).TextLength(all[0], nil)
	b.ReportMetric(float64(plain)/float64(size), "ratio")
}

// benchmarkGatherers measures client_golang: the pages are messages already, and only
// merged and written.
func benchmarkGatherers(b *testing.B, n int, coding exposition.Encoding) {
	b.Helper()
	var all prometheus.Gatherers
	for i := range n {
		mfs, err := messages(simulate.BenchPage(simulate.BenchTRTLLM, i, 0), "r"+strconv.Itoa(i))
		require.NoError(b, err)
		slices.SortFunc(mfs, func(x, y *dto.MetricFamily) int { return cmp.Compare(x.GetName(), y.GetName()) })
		all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return mfs, nil }))
	}
	handler := promhttp.HandlerFor(all, promhttp.HandlerOpts{DisableCompression: coding == exposition.Identity})
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	require.NoError(b, err)
	request.Header.Set("Accept-Encoding", string(coding))
	var w discardResponse
	perSample(b, n*226, func(int) error {
		w = discardResponse{header: http.Header{}}
		handler.ServeHTTP(&w, request)
		if w.status >= http.StatusBadRequest {
			b.Fatalf("status %d", w.status)
		}
		return nil
	})
	b.ReportMetric(float64(w.size), "bytes/page")
}

// countingWriter counts bytes.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

// discardResponse is an http.ResponseWriter without a network.
type discardResponse struct {
	header http.Header
	size   countingWriter
	status int
}

func (w *discardResponse) Header() http.Header         { return w.header }
func (w *discardResponse) WriteHeader(status int)      { w.status = status }
func (w *discardResponse) Write(p []byte) (int, error) { return w.size.Write(p) }
