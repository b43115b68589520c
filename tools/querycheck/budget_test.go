//go:build budget

package querycheck_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// The limits for a panel over a day of 500 replicas, with the points that Grafana requests
// for a width of 1000 pixels.
const (
	replicas    = 500
	samplesMost = 5_000_000
	timeMost    = time.Second
	day         = 24 * time.Hour
	step        = time.Minute
	quarter     = 15 * time.Second
)

// cost is the cost of the queries of a panel.
type cost struct {
	panel   string
	samples int64
	took    time.Duration
}

func TestPanelsAreCheap(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:       100_000_000,
		Timeout:          time.Minute,
		EnableAtModifier: true,
		Parser:           parser.NewParser(parser.Options{}),
	})
	block := newFleet(withRules(t), replicas)
	var costs []cost
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			c := cost{panel: d.UID + " / " + p.Title}
			for _, q := range p.Targets {
				samples, cpu := askFleet(t, engine, block, dayOf(q.Expr, d.UID), q.Instant)
				c.samples += samples
				// Grafana runs the queries of a panel at the same time.
				c.took = max(c.took, cpu)
			}
			costs = append(costs, c)
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.samples, a.samples) })
	for i, c := range costs {
		if i < 25 {
			t.Logf("%9d samples %7s  %s", c.samples, c.took.Round(time.Millisecond), c.panel)
		}
		if c.samples > samplesMost || c.took > timeMost {
			t.Errorf(
				"%s reads %d samples in %s; %d and %s are allowed",
				c.panel,
				c.samples,
				c.took.Round(time.Millisecond),
				samplesMost,
				timeMost,
			)
		}
	}
}

// dayOf returns a query as Grafana sends it for a day and all pools, or one replica where
// one is selected.
func dayOf(expr, dashboard string) string {
	expr = strings.NewReplacer("$__rate_interval", "75s", "$__range", "1d").Replace(expr)
	if dashboard == "trtllm-replica" {
		expr = strings.ReplaceAll(expr, "$replica_id", "r7")
		expr = strings.ReplaceAll(expr, "$pool_id", "p3")
	}
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, ".*")
}

// askFleet evaluates a query over the day, or at its end.
func askFleet(
	t *testing.T,
	engine *promql.Engine,
	block *fleet,
	expr string,
	instant bool,
) (samples int64, took time.Duration) {
	t.Helper()
	end := time.Unix(1_700_000_000, 0)
	// The fleet makes the series of a metric once, which is no cost of the query.
	for _, name := range regexp.MustCompile(`[a-zA-Z][\w:]*`).FindAllString(expr, -1) {
		block.seriesOf(name)
	}
	begin := processorTime(t)
	var q promql.Query
	var err error
	if instant {
		q, err = engine.NewInstantQuery(t.Context(), block, nil, expr, end)
	} else {
		q, err = engine.NewRangeQuery(t.Context(), block, nil, expr, end.Add(-day), end, step)
	}
	require.NoError(t, err, expr)
	defer q.Close()
	result := q.Exec(t.Context())
	require.NoError(t, result.Err, expr)
	took = processorTime(t) - begin
	samples = q.Stats().Samples.TotalSamples
	if !instant {
		samples -= int64(day/step) * askedOnce(t, engine, block, expr, end)
	}
	return samples, took
}

// askedOnce returns the samples of the parts of a query that are equal at each step, which
// are read once but counted at each step.
func askedOnce(t *testing.T, engine *promql.Engine, block *fleet, expr string, end time.Time) (samples int64) {
	t.Helper()
	if !strings.Contains(expr, "@ end()") {
		return 0
	}
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	require.NoError(t, err)
	parsed, err = promql.PreprocessExpr(parsed, end.Add(-day), end, step)
	require.NoError(t, err)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if once, same := node.(*parser.StepInvariantExpr); same {
			n, _ := askFleet(t, engine, block, once.Expr.String(), true)
			samples += n
		}
		return nil
	})
	return samples
}

// processorTime returns the CPU time of the process, without other processes.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano())
}

func TestRulesAreCheap(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:       100_000_000,
		Timeout:          time.Minute,
		EnableAtModifier: true,
		Parser:           parser.NewParser(parser.Options{}),
	})
	block := newFleet(withRules(t), replicas)
	var all time.Duration
	var read int64
	var costs []cost
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			samples, cpu := askFleet(t, engine, block, r.Expr, true)
			require.Less(t, samples, int64(samplesMost), r.Record+r.Alert)
			// Rules that are evaluated less often cost less over the same time.
			samples = samples * quarter.Milliseconds() / time.Duration(g.Interval).Milliseconds()
			cpu = cpu * quarter / time.Duration(g.Interval)
			all += cpu
			read += samples
			costs = append(costs, cost{r.Record + r.Alert, samples, cpu})
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.samples, a.samples) })
	for _, c := range costs[:8] {
		t.Logf("%9d samples %7s  %s", c.samples, c.took.Round(time.Millisecond), c.panel)
	}
	t.Logf("all rules in a quarter of a minute: %d samples in %s", read, all.Round(time.Millisecond))
	require.LessOrEqual(t, read, int64(samplesMost))
	require.Less(t, all, 5*time.Second, "on a machine that has other work")
}
