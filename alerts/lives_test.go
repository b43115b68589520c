package alerts_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
)

// life is what becomes of the series of a fault: whether they are there at a
// step, and bad.
type life struct {
	name string
	// at says what a series is at a step: bad, there, and first when a counter
	// begins again at 0.
	at func(step int) (bad, there, first bool)
	// pair says that a second exporter sees nothing bad, twin that a second
	// cluster has the same names and is well; every is how many steps are between
	// two scrapes.
	pair, twin bool
	every      int
	// shows is what the table has of the life.
	shows measure
}

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

// expr is the measure of what an alert's series are.
func (m measure) expr(series string) string {
	const after = ends/minute - happens/minute - 1
	switch m {
	case firstAfter:
		return fmt.Sprintf("(min_over_time(timestamp(max(%s))[%dm:15s]) - %d) / 60", series, ends/minute-1, begins*60/minute)
	case lastAfter:
		return fmt.Sprintf("(max_over_time(timestamp(max(%s))[%dm:15s]) - %d) / 60", series, ends/minute-1, happens*60/minute)
	default:
		return fmt.Sprintf("%d - count_over_time(max(%s)[%dm:15s]) / %d", after, series, after, minute)
	}
}

// lives are the columns of the table.
func lives() []life {
	until := func(step int) (bool, bool, bool) { return step >= begins && step < happens, true, false }
	on := func(step int) (bool, bool, bool) { return step >= begins, true, false }
	return []life{
		{name: "fault", at: on},
		{name: "new", at: func(step int) (bool, bool, bool) { return true, step >= begins, false }},
		{name: "pair", at: on, pair: true},
		{name: "twin", at: on, twin: true},
		{name: "60s", at: on, every: minute},
		{name: "recovered", at: until, shows: lastAfter},
		{name: "gone", at: func(step int) (bool, bool, bool) { return step >= begins, step < happens, false }, shows: lastAfter},
		{name: "restart", at: func(step int) (bool, bool, bool) {
			return step >= begins, step < happens || step >= happens+2, step == happens+2
		}, shows: silentFor},
		{name: "gap", at: func(step int) (bool, bool, bool) {
			return step >= begins, step < happens || step >= happens+3*minute, false
		}, shows: silentFor},
	}
}

// values are those of a series over a life; missing is written where it is not
// there.
func (l *life) values(s signal, healthy bool) string {
	var out []string
	var sum float64
	was := false
	for step := range ends {
		bad, there, first := l.at(step)
		v := s.good
		if bad && !healthy {
			v = s.bad
		}
		switch {
		case v == gone:
			there = false
		case s.clock && v > 0:
			sum = float64(step) * 60 / minute
			v = sum
		case s.counter || s.clock:
			if first && !s.clock {
				sum = 0
			}
			sum += v
			v = sum
		}
		switch {
		case l.every > 0 && step%l.every != 0:
			out = append(out, "_")
		case there:
			out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
		case was && l.name != "gap":
			out = append(out, "stale")
		default:
			out = append(out, "_")
		}
		was = there
	}
	return strings.Join(out, " ")
}

// test is a life of the series of all faults, each in a pool and behind an
// exporter of its own, as promtool reads it.
func (l *life) test(want map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: '%s'\n    interval: 15s\n    input_series:\n", l.name)
	series := func(s signal, alert, instance string, healthy bool) {
		labels := fmt.Sprintf(`instance=%q,job="trtllm_exporter"`, instance)
		if s.name != "up" && !slices.Contains(ofExporter(), alert) {
			labels += fmt.Sprintf(`,pool_id=%q`, alert)
		} else if s.name == "trtllm_exporter_targets" {
			labels += fmt.Sprintf(`,pool_id=%q`, "of-"+alert)
		}
		if s.labels != "" {
			labels += "," + s.labels
		}
		fmt.Fprintf(&b, "      - { series: '%s{%s}', values: '%s' }\n", s.name, labels, l.values(s, healthy))
	}
	all := faults()
	for _, alert := range slices.Sorted(maps.Keys(all)) {
		for _, s := range all[alert] {
			series(s, alert, alert, false)
			if l.pair {
				series(s, alert, "other-"+alert, true)
			}
			if l.twin {
				s.labels = strings.TrimPrefix(s.labels+`,cluster="twin"`, ",")
				series(s, alert, alert, true)
			}
		}
	}
	series(steady("up", "", 1), "", "well", true)
	b.WriteString("    promql_expr_test:\n")
	for _, alert := range slices.Sorted(maps.Keys(all)) {
		fires := fmt.Sprintf(`ALERTS{alertstate="firing",alertname=%q,pool_id=~%q,instance=~%[2]q}`, alert, alert+"|")
		fmt.Fprintf(&b, "      - expr: '%s'\n        eval_time: %dm\n        exp_samples: [", l.shows.expr(fires), ends/minute-1)
		switch want[alert] {
		case "-":
		case "stays":
			fmt.Fprintf(&b, "{ labels: '{}', value: %d }", (ends-happens)/minute-1)
		default:
			fmt.Fprintf(&b, "{ labels: '{}', value: %s }", want[alert])
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

// groupNames are the names of all groups in their order, in which promtool must
// evaluate them for exact times.
func groupNames(rules string) string {
	var names []string
	for line := range strings.Lines(rules) {
		if name, found := strings.CutPrefix(line, "  - name: "); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return strings.Join(names, ", ")
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

func TestAlertsOverTheLivesOfTheirSeries(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "PROMTOOL", "promtool")
	wanted := table(t)
	for _, l := range lives() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			values, err := alerts.DefaultValues()
			require.NoError(t, err)
			if l.every > 0 {
				values["scrape_interval"] = "1m"
			}
			rules, err := alerts.Render(values)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
			require.ElementsMatch(t, slices.Collect(maps.Keys(faults())), slices.Collect(maps.Keys(wanted[l.name])), "testdata/lives.txt")
			text := "rule_files: [rules.yml]\nevaluation_interval: 15s\nfuzzy_compare: true\ngroup_eval_order: [" + groupNames(string(rules)) + "]\ntests:\n" + l.test(wanted[l.name])
			require.NoError(t, os.WriteFile(filepath.Join(dir, "lives.yml"), []byte(text), 0o600))
			run(t, dir, promtool, "test", "rules", "lives.yml")
		})
	}
}
