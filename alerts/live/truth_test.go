//go:build e2e_live

package live

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// watchedFor is the time over which panels are compared with the truth, step the time
// between points.
const (
	watchedFor = 120 * time.Second
	step       = 5 * time.Second
)

// TestPanelsMatchTruth compares the panels of the dashboards, with data of a real
// Prometheus, with what really happened in the simulated servers, for several topologies of
// exporters.
func TestPanelsMatchTruth(t *testing.T) {
	for _, c := range []struct {
		name, config string
		flags        [][]string
		of           *regexp.Regexp
	}{
		{"one exporter", "", [][]string{nil}, everyPanel},
		{"a pair", "", [][]string{nil, nil}, everyPanel},
		{"two shards", "sharding: { total: 2 }\n", [][]string{{"--sharding.index=0"}, {"--sharding.index=1"}}, everyPanel},
		{"the lean setting", "exposition: { raw: false, normalised: [core] }\n", [][]string{nil}, panelsOfCore},
	} {
		t.Run(c.name, func(t *testing.T) { requirePanelsMatchTruth(t, truthSetting(t, c.config, c.flags), c.of) })
	}
}

// everyPanel matches all panels, panelsOfCore those that need group core alone.
var everyPanel, panelsOfCore = regexp.MustCompile(""), regexp.MustCompile(`^trtllm-(fleet|latency|capacity) /`)

func requirePanelsMatchTruth(t *testing.T, set setting, panels *regexp.Regexp) {
	t.Helper()
	s := startStack(t, set)
	truths := record(t, s.fleet)
	// Wait until windows are filled; the first point covers the window before it.
	pause(t, 2*over+2*step)
	pause(t, watchedFor)
	end := time.Now()
	pause(t, step) // Requests with a first token end.
	latencies := make(map[*simulate.Replica][]simulate.Latency)
	for _, r := range truths.replicas {
		latencies[r] = r.Latencies()
	}
	p := s.panelReader(t, end)
	compared, wrong := 0, 0
	for _, v := range panelValues() {
		if !panels.MatchString(v.panel) {
			continue
		}
		compared++
		got := p.read(t, v.panel, v.series)
		if v.first != "" {
			maps.Copy(got, p.read(t, v.first, v.series))
		}
		if len(got) == 0 {
			t.Errorf("%s %v has no value", v.panel, v.series)
			continue
		}
		truth := make(map[time.Time]float64)
		evaluated := p.evaluated(t, v.panel)
		for now := range got {
			truth[now] = v.want(
				truths.window(p.spansAt(t, v.panel, cmp.Or(evaluated[now], now)), latencies, v.pool, v.replica),
			)
		}
		line, right := p.compare(t, v, got, truth)
		t.Log(line)
		if !right {
			t.Errorf("beyond its grade: %s", line)
			wrong++
		}
	}
	require.Positive(t, compared)
	t.Logf("%d values of panels, %d beyond their grade", compared, wrong)
}

// panelReader reads panels like Grafana.
type panelReader struct {
	*stack
	end            time.Time
	queries, rules map[string]string
	bounds         map[string][]float64
	// spans holds the times of the pages that a query reads, by query and replica.
	spans      map[string]map[string]span
	vocabulary vocabulary.Vocabulary
}

// panelReader returns a reader of the panels as they were at a time.
func (s *stack) panelReader(t *testing.T, end time.Time) *panelReader {
	t.Helper()
	rules, _ := s.rules(t)
	p := &panelReader{
		stack:      s,
		end:        end,
		queries:    make(map[string]string),
		bounds:     make(map[string][]float64),
		spans:      make(map[string]map[string]span),
		rules:      rules,
		vocabulary: vocabulary.New(),
	}
	for _, q := range panelQueries(over.String(), watchedFor.String(), "") {
		p.queries[q.name] = q.expr
	}
	return p
}

// evaluated returns, for each point of a panel, when the recording rule that it reads was
// evaluated; empty for a panel without rules.
func (p *panelReader) evaluated(t *testing.T, panel string) map[time.Time]time.Time {
	t.Helper()
	times := make(map[time.Time]time.Time)
	if record := recordName.FindString(p.queries[panel]); record != "" {
		for _, x := range p.queryRange(t, "max(timestamp("+record+"))", watchedFor, p.end, step)[0].Values {
			times[x.Timestamp.Time()] = seconds(x.Value)
		}
	}
	return times
}

// spansAt returns the times of the pages that a panel or its rule read at a time, by replica:
// those of the samples of a rate, or of the exporter's window.
func (p *panelReader) spansAt(t *testing.T, panel string, at time.Time) map[string]span {
	t.Helper()
	const page = "trtllm_exporter_target_last_success_timestamp_seconds"
	when := fmt.Sprintf("@ %.3f", float64(at.UnixMilli())/1e3)
	begin := fmt.Sprintf("%s %s - %g", page, when, over.Seconds())
	if expr := p.queries[panel]; strings.Contains(expr+p.rules[recordName.FindString(expr)], "rate(") {
		begin = fmt.Sprintf("min_over_time(%s[%s] %s)", page, over, when)
	}
	if p.spans[begin] == nil {
		p.spans[begin] = make(map[string]span)
		ends := p.times(t, page+" "+when)
		for replica, first := range p.times(t, begin) {
			p.spans[begin][replica] = span{first, ends[replica]}
		}
	}
	return p.spans[begin]
}

// times returns timestamps that are the result of a query, by replica; the mean of two
// exporters.
func (p *panelReader) times(t *testing.T, query string) map[string]time.Time {
	t.Helper()
	all := make(map[string]time.Time)
	for _, s := range p.query(t, "avg by (replica_id) ("+query+")") {
		all[string(s.Metric["replica_id"])] = seconds(s.Value)
	}
	return all
}

// seconds returns the time of a Unix timestamp.
func seconds(v model.SampleValue) time.Time { return time.UnixMilli(int64(v * 1000)) }

// read returns the points of the only series of a panel with pairs of labels.
func (p *panelReader) read(t *testing.T, panel string, series []string) map[time.Time]float64 {
	t.Helper()
	expr := p.queries[panel]
	require.NotEmpty(t, expr, "no query %s", panel)
	points := make(map[time.Time]float64)
	found := 0
	for _, r := range p.queryRange(t, expr, watchedFor, p.end, step) {
		if !has(r.Metric, series) {
			continue
		}
		found++
		for _, x := range r.Values {
			if value := float64(x.Value); !math.IsNaN(value) {
				points[x.Timestamp.Time()] = value
			}
		}
	}
	require.LessOrEqual(t, found, 1, "%s has several series with %v", panel, series)
	return points
}

// has reports whether a series has pairs of labels.
func has[K, V ~string](series map[K]V, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if series[K(labels[i])] != V(labels[i+1]) {
			return false
		}
	}
	return true
}

// compare compares the points of a value with the truth at the same moments. A percentile may be off by a bucket, a
// mean by a share that depends on the worst grade that the panel reads.
func (p *panelReader) compare(t *testing.T, v shown, got, truth map[time.Time]float64) (line string, right bool) {
	t.Helper()
	a, b := average(maps.Values(got)), average(maps.Values(truth))
	if v.percentile {
		bounds := p.boundsOf(t, v)
		off := 0.0
		for now, value := range got {
			shown, _ := slices.BinarySearch(bounds, value)
			should, _ := slices.BinarySearch(bounds, truth[now])
			off += math.Abs(float64(shown-should)) / float64(len(got))
		}
		return fmt.Sprintf("%s %s: %.4g, truth %.4g, %.2f buckets",
			v.panel, strings.Join(v.series, " "), a, b, off), off <= 1
	}
	grade := p.grade(v.panel)
	off := math.Abs(a - b)
	allowed := map[string]float64{"": 0, "A": 0.03, "B": 0.1, "C": 0.35}[grade]
	limit := max(allowed*math.Abs(b), v.within)
	if grade == "B" {
		limit += 3 * standardError(got, truth)
	}
	return fmt.Sprintf("%s %s: %.4g, truth %.4g, off by %.4g, allowed "+
		"%.4g, grade %s", v.panel, strings.Join(v.series, " "), a, b, off, limit, grade), off <= limit
}

// standardError returns the standard error of the mean difference, because scrapes sample
// gauges.
func standardError(got, truth map[time.Time]float64) float64 {
	mean, sum := average(maps.Values(got))-average(maps.Values(truth)), 0.0
	for now, value := range got {
		d := value - truth[now] - mean
		sum += d * d
	}
	return math.Sqrt(sum) / float64(len(got))
}

// average returns the mean of numbers.
func average(numbers iter.Seq[float64]) float64 {
	sum, count := 0.0, 0.0
	for v := range numbers {
		sum += v
		count++
	}
	return sum / count
}

// recordName matches recording rules in a query, metricName also metrics.
var (
	recordName = regexp.MustCompile(`[a-z_]+:llm_server_[a-z_:]+`)
	metricName = regexp.MustCompile(recordName.String() + `|(?:llm_server|trtllm_exporter)_[a-z_]+`)
)

// grade returns the worst grade of everything that a query reads, through recording rules.
func (p *panelReader) grade(panel string) string {
	worst, seen := "", make(map[string]bool)
	var read func(expr string)
	read = func(expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if seen[name] {
				continue
			}
			seen[name] = true
			worst = max(worst, string(p.vocabulary[name].Grade))
			read(p.rules[name])
		}
	}
	read(p.queries[panel])
	return worst
}

// boundsOf returns the bucket bounds of the histogram of a value.
func (p *panelReader) boundsOf(t *testing.T, v shown) []float64 {
	t.Helper()
	family := regexp.MustCompile(`llm_server_[a-z_]+_bucket`).FindString(p.queries[v.panel])
	selector := family + `{pool_id="` + v.pool + `"}`
	if p.bounds[selector] == nil {
		for _, s := range p.query(t, "group by (le) ("+selector+")") {
			p.bounds[selector] = append(p.bounds[selector], number(t, string(s.Metric["le"])))
		}
		slices.Sort(p.bounds[selector])
	}
	return p.bounds[selector]
}
