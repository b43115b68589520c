//go:build e2e_live

package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts/vocabulary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// watchedFor is the time over which panels are compared with the truth, step the
// time between their points.
const (
	watchedFor = 120 * time.Second
	step       = 5 * time.Second
)

// allowed returns how far off the mean of a panel over the time may be, as a share, by
// the worst grade of what it reads. A percentile may be off by a bucket.
func allowed() map[string]float64 { return map[string]float64{"": 0, "A": 0.03, "B": 0.1, "C": 0.35} }

// TestPanelsShowTheTruth compares what panels of the dashboards show of a real
// Prometheus with what really happened in the simulated servers, whichever
// exporters scrape them.
func TestPanelsShowTheTruth(t *testing.T) {
	for _, c := range []struct {
		name, config string
		commands     [][]string
	}{
		{"one exporter", "", [][]string{{"serve"}}},
		{"a pair", "", [][]string{{"serve"}, {"serve"}}},
		{"two shards", "sharding: { total: 2 }\n", [][]string{{"serve", "--sharding.index=0"}, {"serve", "--sharding.index=1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			panelsShowTheTruth(t, truthSetting(t, c.config, c.commands))
		})
	}
}

func panelsShowTheTruth(t *testing.T, set setting) {
	t.Helper()
	s := startStack(t, set)
	notes := record(t, s.fleet)
	// Windows fill; what is shown first began a window before.
	pause(t, 2*over+2*step)
	pause(t, watchedFor)
	end := time.Now()
	pause(t, step) // Requests that have their first token end.
	latencies := make(map[*simulate.Replica][]simulate.Latency)
	for _, r := range notes.replicas {
		latencies[r] = r.Latencies()
	}
	p := &panelReader{stack: s, end: end, queries: panelQueries(), bounds: make(map[string][]float64), spans: make(map[string]map[string]span), rules: s.recorded(t), known: vocabulary.New()}
	wrong := 0
	for _, v := range panelValues() {
		got := p.read(t, v)
		if v.first != "" {
			below := v
			below.panel = v.first
			maps.Copy(got, p.read(t, below))
		}
		if len(got) == 0 {
			t.Errorf("%s %v has no value", v.panel, v.series)
			continue
		}
		truth := make(map[time.Time]float64)
		evaluated := p.evaluated(t, v.panel)
		for at := range got {
			truth[at] = v.of(notes.window(p.spansAt(t, v.panel, cmp.Or(evaluated[at], at)), latencies, v.pool, v.replica))
		}
		line, right := p.compare(t, v, got, truth)
		t.Log(line)
		if !right {
			t.Errorf("beyond its grade: %s", line)
			wrong++
		}
	}
	t.Logf("%d values of panels, %d beyond their grade", len(panelValues()), wrong)
}

// panelQueries returns the queries of all dashboards by dashboard, panel and
// reference.
func panelQueries() map[string]string {
	queries := make(map[string]string)
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", over.String(), "$__range", watchedFor.String()).Replace(q.Expr)
				queries[d.UID+" / "+p.Title+" / "+q.RefID] = variable.ReplaceAllString(expr, ".*")
			}
		}
	}
	return queries
}

// panelReader reads panels as Grafana does.
type panelReader struct {
	*stack
	end            time.Time
	queries, rules map[string]string
	bounds         map[string][]float64
	// spans are the times of the pages that a query reads, by the query and by replica.
	spans map[string]map[string]span
	known vocabulary.Vocabulary
}

// evaluated returns when the rule whose record a panel reads was evaluated, by the points of the
// panel; empty for a panel that reads none.
func (p *panelReader) evaluated(t *testing.T, panel string) map[time.Time]time.Time {
	t.Helper()
	times := make(map[time.Time]time.Time)
	if record := recordName.FindString(p.queries[panel]); record != "" {
		for _, x := range p.queryRange(t, "max(timestamp("+record+"))", p.end.Add(-watchedFor), p.end, step)[0].points {
			times[x.at] = seconds(x.value)
		}
	}
	return times
}

// spansAt returns the times of the pages that a panel, or its rule, read at a time, by replica:
// those of the samples that a rate has, or of the exporter's window.
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

// times returns the timestamps that a query has, by replica; of two exporters the mean.
func (p *panelReader) times(t *testing.T, query string) map[string]time.Time {
	t.Helper()
	all := make(map[string]time.Time)
	for _, s := range p.query(t, "avg by (replica_id) ("+query+")") {
		all[s["replica_id"]] = seconds(number(t, s["value"]))
	}
	return all
}

// seconds returns the time of a timestamp.
func seconds(v float64) time.Time { return time.UnixMilli(int64(v * 1000)) }

// read returns the points of a value over the time.
func (p *panelReader) read(t *testing.T, v shown) map[time.Time]float64 {
	t.Helper()
	expr := p.queries[v.panel]
	require.NotEmpty(t, expr, "there is no %s", v.panel)
	points := make(map[time.Time]float64)
	found := 0
	for _, r := range p.queryRange(t, expr, p.end.Add(-watchedFor), p.end, step) {
		if !has(r.labels, v.series) {
			continue
		}
		found++
		for _, x := range r.points {
			if !math.IsNaN(x.value) {
				points[x.at] = x.value
			}
		}
	}
	require.LessOrEqual(t, found, 1, "%s has several series with %v", v.panel, v.series)
	return points
}

// has reports whether a series has pairs of labels.
func has(series map[string]string, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if series[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}

// compare holds the points of a value against the truth of the same moments.
func (p *panelReader) compare(t *testing.T, v shown, got, truth map[time.Time]float64) (line string, right bool) {
	t.Helper()
	if v.percentile {
		bounds := p.boundsOf(t, v)
		off := 0.0
		for at, value := range got {
			a, _ := slices.BinarySearch(bounds, value)
			b, _ := slices.BinarySearch(bounds, truth[at])
			off += math.Abs(float64(a-b)) / float64(len(got))
		}
		return fmt.Sprintf("%s %s: %.4g, truth %.4g, %.2f buckets", v.panel, strings.Join(v.series, " "), averageOf(got), averageOf(truth), off), off <= 1
	}
	grade := p.grade(v.panel)
	a, b := averageOf(got), averageOf(truth)
	off := math.Abs(a - b)
	most := max(allowed()[grade]*math.Abs(b), v.within)
	if grade == "B" {
		most += 3 * standardError(got, truth)
	}
	return fmt.Sprintf("%s %s: %.4g, truth %.4g, off by %.4g, allowed %.4g, grade %s", v.panel, strings.Join(v.series, " "), a, b, off, most, grade), off <= most
}

// standardError returns that of the mean difference: scrapes see a gauge at their moments only.
func standardError(got, truth map[time.Time]float64) float64 {
	mean, sum := averageOf(got)-averageOf(truth), 0.0
	for at, value := range got {
		d := value - truth[at] - mean
		sum += d * d
	}
	return math.Sqrt(sum) / float64(len(got))
}

// averageOf returns the mean of all points.
func averageOf(points map[time.Time]float64) float64 {
	return average(slices.Collect(maps.Values(points)))
}

// average returns the mean of numbers.
func average(numbers []float64) float64 {
	sum := 0.0
	for _, v := range numbers {
		sum += v
	}
	return sum / float64(len(numbers))
}

// recordName is one of a recording rule in a query, metricName also one of a metric.
var (
	recordName = regexp.MustCompile(`[a-z_]+:llm_server_[a-z_:]+`)
	metricName = regexp.MustCompile(recordName.String() + `|(?:llm_server|trtllm_exporter)_[a-z_]+`)
)

// grade returns the worst of all that a query reads, through recording rules.
func (p *panelReader) grade(panel string) string {
	worst, seen := "", make(map[string]bool)
	var read func(expr string)
	read = func(expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if seen[name] {
				continue
			}
			seen[name] = true
			worst = max(worst, string(p.known[name].Grade))
			read(p.rules[name])
		}
	}
	read(p.queries[panel])
	return worst
}

// boundsOf returns the buckets of the histogram that a value is from.
func (p *panelReader) boundsOf(t *testing.T, v shown) []float64 {
	t.Helper()
	family := regexp.MustCompile(`llm_server_[a-z_]+_bucket`).FindString(p.queries[v.panel])
	selector := family + `{pool_id="` + v.pool + `"}`
	if p.bounds[selector] == nil {
		for _, s := range p.query(t, "group by (le) ("+selector+")") {
			bound, err := strconv.ParseFloat(s["le"], 64)
			require.NoError(t, err)
			p.bounds[selector] = append(p.bounds[selector], bound)
		}
		slices.Sort(p.bounds[selector])
	}
	return p.bounds[selector]
}

// recorded returns the recording rules by what they record.
func (s *stack) recorded(t *testing.T) map[string]string {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name  string `json:"name"`
					Query string `json:"query"`
					Type  string `json:"type"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"data"`
	}
	fetchJSON(t, "http://"+s.prometheus+"/api/v1/rules", &answer)
	rules := make(map[string]string)
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if r.Type == "recording" {
				rules[r.Name] += " " + r.Query
			}
		}
	}
	require.NotEmpty(t, slices.Collect(maps.Keys(rules)))
	return rules
}
