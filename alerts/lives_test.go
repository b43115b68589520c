package alerts_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

// A life is tested in steps of a quarter of a minute: the fault comes after
// twelve minutes, and what ends it or interrupts it forty later.
const (
	minute  = 4
	begins  = 12 * minute
	happens = begins + 40*minute
	ends    = happens + 36*minute
	// changed is when the last alert of a pool that changes has fired.
	changed = begins + 46*minute
)

// measure is what is counted of an alert, in minutes.
type measure int

// How long after the fault began it fires first; how long after the fault ended
// it fires last, which is below 0 where it ends at once; for how long it is
// silent after it was interrupted.
const (
	firstAfter measure = iota
	lastAfter
	silentFor
)

// expr is the measure of what an alert's series are, at a minute.
func (m measure) expr(series string, at int) string {
	const after = ends/minute - happens/minute - 1
	switch m {
	case firstAfter:
		return fmt.Sprintf("(min_over_time(timestamp(max(%s))[%dm:15s]) - %d) / 60", series, at, begins*60/minute)
	case lastAfter:
		return fmt.Sprintf("(max_over_time(timestamp(max(%s))[%dm:15s]) - %d) / 60", series, at, happens*60/minute)
	default:
		return fmt.Sprintf("%d - count_over_time(max(%s)[%dm:15s]) / %d", after, series, after, minute)
	}
}

// column is a life of all faults: its series and what the table has of it. What
// the rules know of one cluster they tell apart from what they know of another,
// so each column is a cluster of its own, and all are evaluated at once.
type column struct {
	name   string
	series []string
	shows  measure
	// steps is how long it is.
	steps int
}

// cluster is the label of a column; the first has none.
func cluster(life string) string {
	if life == "fault" {
		return ""
	}
	return life
}

// expected are the queries of a column, with the results that the table wants.
func (c *column) expected(want map[string]string) string {
	var b strings.Builder
	at := c.steps/minute - 1
	for _, alert := range slices.Sorted(maps.Keys(want)) {
		fires := fmt.Sprintf(`ALERTS{cluster=%q,alertstate="firing",alertname=%q,pool_id=~%q,instance=~%[3]q}`, cluster(c.name), alert, alert+"|")
		fmt.Fprintf(&b, "      - expr: '%s'\n        eval_time: %dm\n        exp_samples: [", c.shows.expr(fires, at), at)
		switch want[alert] {
		case "-":
		case "stays":
			fmt.Fprintf(&b, "{ labels: '{}', value: %d }", at-happens/minute)
		default:
			fmt.Fprintf(&b, "{ labels: '{}', value: %s }", want[alert])
		}
		b.WriteString("]\n")
	}
	return b.String()
}

// silence wants nothing to fire in clusters, but for what is by design.
func silence(clusters []string, design map[string][]string) string {
	var b strings.Builder
	for _, c := range clusters {
		fmt.Fprintf(&b, "      - expr: 'group by (alertname) (count_over_time(ALERTS{cluster=%q,alertstate=\"firing\"}[%dm]))'\n        eval_time: %[2]dm\n        exp_samples: [",
			c, changed/minute-1)
		for _, alert := range design[c] {
			fmt.Fprintf(&b, "{ labels: '{alertname=%q}', value: 1 }, ", alert)
		}
		b.WriteString("]\n")
	}
	return b.String()
}

// ofExporter are the alerts about exporters, which are in no pool.
func ofExporter() []string {
	return []string{"LLMExporterDown", "LLMSidecarDown", "LLMExporterReloadFailed", "LLMExporterPageLarge", "LLMMetadataConflict", "LLMExporterPanics", "LLMShardMissing"}
}

// table reads testdata/lives.txt: for each life what is wanted of each alert.
func table(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/lives.txt")
	require.NoError(t, err)
	var columns []string
	wanted := make(map[string]map[string]string)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case columns == nil:
			columns = fields[1:]
		default:
			require.Len(t, fields, len(columns)+1, line)
			for i, c := range columns {
				if wanted[c] == nil {
					wanted[c] = make(map[string]string)
				}
				wanted[c][fields[0]] = fields[i+1]
			}
		}
	}
	return wanted
}

func TestEveryAlertIsInTheTableOfLives(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"LLMExporterAbsent":     "there is one job, and it is there in the table",
		"LLMEnergyPerTokenHigh": "it compares with the mean of a day",
	}
	all := faults()
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		_, exempt := elsewhere[r.Alert]
		require.NotEqual(t, exempt, all[r.Alert] != nil, r.Alert)
		delete(all, r.Alert)
	}
	require.Empty(t, all, "faults of no alert")
}

// evaluate holds columns of the table to the rules.
func evaluate(t *testing.T, scrape string, columns []column, wanted map[string]map[string]string, more string) {
	t.Helper()
	promtool := tool(t, "PROMTOOL", "promtool")
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	// promtool evaluates slow groups as often as all others.
	values["scrape_interval"], values["slo_slow_interval"], values["slo_budget_interval"] = scrape, "15s", "15s"
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	var b strings.Builder
	for _, c := range columns {
		for _, s := range c.series {
			b.WriteString(s)
		}
	}
	b.WriteString("    promql_expr_test:\n")
	for _, c := range columns {
		if c.name == "" {
			continue
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(faults())), slices.Collect(maps.Keys(wanted[c.name])), "%s in testdata/lives.txt", c.name)
		b.WriteString(c.expected(wanted[c.name]))
	}
	check(t, promtool, needed(t, rules, nil), "  - interval: 15s\n    input_series:\n"+b.String()+more)
}

// check lets promtool evaluate one test.
func check(t *testing.T, promtool string, rules []byte, test string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
	text := "rule_files: [rules.yml]\nevaluation_interval: 15s\nfuzzy_compare: true\ngroup_eval_order: [" + strings.Join(groupNames(t, rules), ", ") + "]\ntests:\n" + test
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lives.yml"), []byte(text), 0o600))
	run(t, dir, promtool, "test", "rules", "lives.yml")
}

func TestAlertsOverTheLivesOfTheirSeries(t *testing.T) {
	t.Parallel()
	wanted := table(t)
	var columns []column
	for _, l := range lives() {
		columns = append(columns, l.column())
	}
	evaluate(t, "15s", columns, wanted, "")
}

func TestAlertsWhileAPoolChanges(t *testing.T) {
	t.Parallel()
	wanted := table(t)
	var columns []column
	var well []string
	for _, c := range changes() {
		columns = append(columns, c.column(), c.healthy())
		well = append(well, c.name+"-well")
	}
	evaluate(t, "15s", columns, wanted, silence(well, byDesign()))
}

func TestAlertsOfAPrometheusThatScrapesOnceAMinute(t *testing.T) {
	t.Parallel()
	slow := life{name: "60s", at: stays, every: minute}
	evaluate(t, "1m", []column{slow.column()}, table(t), "")
}
