package scenarios_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// file is the table whose last column is tested here.
const file = "../../tools/matrix/testdata/matrix.txt"

// Scenarios last long enough for every alert about requests. Prometheus scrapes every sixth
// page.
const (
	duration = 20 * time.Minute
	interval = 30 * time.Second
)

// pool returns the name of the pool that contains only this server in this scenario.
func pool(server, scenario string) string { return server + "/" + scenario }

// firing returns the alerts that fire during each scenario of a server, by pool, and its last page.
func firing(t *testing.T, server *matrix.Server) (fires map[string][]string, ends map[string]*matrix.Result) {
	t.Helper()
	program, dir := fixture.Program(t, "playrules"), t.TempDir()
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	values["evaluation_interval"] = "2m"
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	rules = fixture.WithoutAnnotations(t, alerts.WithoutPanels(rules))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
	var b strings.Builder
	var groups []string
	for _, m := range regexp.MustCompile(`(?m)^ {2}- name: (\S+)$`).FindAllStringSubmatch(string(rules), -1) {
		groups = append(groups, m[1])
	}
	require.NotEmpty(t, groups)
	fmt.Fprintf(&b, "rule_files: [rules.yml]\nevaluation_interval: 2m\ngroup_eval_order: [%s]\ntests:\n  - "+
		"interval: 30s\n    input_series:\n", strings.Join(groups, ", "))
	write := func(series, values string) {
		fmt.Fprintf(&b, "      - { series: '%s', values: '%s' }\n", series, values)
	}
	write(`up{job="trtllm_exporter",instance="exporter"}`, fmt.Sprintf("1x%d", duration/interval))
	wanted := used(string(rules))
	ends = make(map[string]*matrix.Result)
	for _, scenario := range matrix.Scenarios() {
		scenario = scenario.Lasting(duration)
		seen, err := matrix.Play(server, &scenario)
		require.NoError(t, err)
		end := seen[len(seen)-1]
		ends[pool(server.Name, scenario.Name)] = &end
		for name, line := range record(&scenario, seen, wanted) {
			name = strings.Replace(
				name,
				"{",
				fmt.Sprintf(
					`{pool_id=%q,replica_id="replica",job="trtllm_exporter",instance="exporter",`,
					pool(server.Name, scenario.Name),
				),
				1,
			)
			write(strings.Replace(name, ",}", "}", 1), written(line))
		}
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: 'count by (alertname, pool_id) "+
		"(max_over_time(ALERTS{alertstate=\"firing\"}[%ds]))'\n        eval_time: %[1]ds\n        "+
		"exp_samples: []\n", int(duration.Seconds()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matrix.yml"), []byte(b.String()), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "matrix.yml")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOGC=400") // Its heap is small, so collections would be frequent.
	// It reports what fires, because an empty expectation fails.
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, ends
	}
	require.Contains(t, string(out), "got:", "%s", out)
	fires = make(map[string][]string)
	for _, m := range regexp.MustCompile(`\{alertname="([^"]*)", pool_id="([^"]*)"\}`).FindAllStringSubmatch(string(out), -1) {
		fires[m[2]] = append(fires[m[2]], m[1])
	}
	require.NotEmpty(t, fires, "%s", out)
	for _, names := range fires {
		slices.Sort(names)
	}
	return fires, ends
}

// used returns the names of series that rules read.
func used(rules string) map[string]bool {
	names := make(map[string]bool)
	for _, name := range regexp.MustCompile(`\b(llm_server|trtllm_exporter)_[a-z_]+`).FindAllString(rules, -1) {
		// Only quantiles of panels read buckets.
		names[name] = !strings.HasSuffix(name, "_bucket")
	}
	return names
}

// record returns the samples that Prometheus would store for a replica of which only group core is exposed: a
// value per scrape, NaN for none.
func record(scenario *matrix.Scenario, seen []matrix.Result, wanted map[string]bool) map[string][]float64 {
	all, size, restarts, read := make(map[string][]float64), int(duration/interval)+1, 0, false
	for i := range seen {
		page := &scenario.Pages[i]
		read = read || page.Scrape.OK
		if page.Restarted {
			restarts++
		}
		slot := int((page.At + interval - 1) / interval)
		if slot >= size || i+1 < len(seen) && scenario.Pages[i+1].At <= time.Duration(slot)*interval {
			continue
		}
		put := func(name string, v float64) {
			if !inCore(name) || v == 0 && !saysState(name) {
				return
			}
			if all[name] == nil {
				all[name] = slices.Repeat([]float64{math.NaN()}, size)
			}
			all[name][slot] = v
		}
		for _, s := range seen[i].Series {
			if name := s.Labels.Get("__name__"); wanted[name] {
				put(strings.ReplaceAll(s.Labels.MatchLabels(false, "__name__").String(), " ", "")+"\x00"+name, s.Value)
			}
		}
		put("{}\x00trtllm_exporter_target_up", number(page.Scrape.OK))
		if read {
			put("{}\x00trtllm_exporter_target_last_success_timestamp_seconds", page.At.Seconds())
		}
		put("{}\x00trtllm_exporter_target_restarts_total", float64(restarts))
		put("{}\x00trtllm_exporter_targets", 1)
		for _, state := range assess.States() {
			put(fmt.Sprintf("{state=%q}\x00llm_server_state", state), number(seen[i].State == state))
		}
		put("{}\x00llm_server_serving", number(assess.Serves(seen[i].State, seen[i].Probes.Ready)))
		put("{}\x00llm_server_suspected", number(seen[i].Suspected))
		if served := seen[i].Canary; served != nil {
			put("{model_id=\"m\"}\x00llm_server_canary_success", number(*served))
		}
		for name, answer := range seen[i].Objectives {
			put(fmt.Sprintf("{slo=%q}\x00llm_server_slo_measured", name), number(answer.OK))
		}
		for _, o := range matrix.Promised() {
			put(fmt.Sprintf("{slo=%q}\x00llm_server_slo_objective", o.Name), o.Share)
		}
	}
	named := make(map[string][]float64)
	for key, line := range all {
		set, name, _ := strings.Cut(key, "\x00")
		named[name+strings.Replace(set, "}", ",}", 1)] = line
	}
	return named
}

// inCore reports whether group core has a series, given as its labels and its name, if any group has it.
func inCore(series string) bool {
	_, name, _ := strings.Cut(series, "\x00")
	group, known := assess.GroupOfSeries(labels.FromStrings(model.MetricNameLabel, name))
	return !known || group == exposition.GroupCore
}

// saysState reports whether a series is there also while something is in another state, as most are.
func saysState(series string) bool {
	lset, name, _ := strings.Cut(series, "\x00")
	followed, m := assess.FollowedStates(name), stateLabel.FindStringSubmatch(lset)
	return followed == nil || m == nil || slices.Contains(followed, m[1])
}

var stateLabel = regexp.MustCompile(`\bstate="([^"]*)"`)

// number returns 1 for true.
func number(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// written returns values as in files of promtool tests: runs of equal steps as one word, stale
// after a series ends.
func written(line []float64) string {
	var words []string
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for i := 0; i < len(line); {
		if math.IsNaN(line[i]) {
			if i > 0 && !math.IsNaN(line[i-1]) {
				words = append(words, "stale")
			} else {
				words = append(words, "_")
			}
			i++
			continue
		}
		n := 1
		for i+n < len(line) && line[i+n]-line[i+n-1] == line[min(i+1, len(line)-1)]-line[i] {
			n++
		}
		switch step := line[min(i+1, len(line)-1)] - line[i]; {
		case n == 1:
			words = append(words, text(line[i]))
		case step < 0:
			words = append(words, fmt.Sprintf("%s-%sx%d", text(line[i]), text(-step), n-1))
		default:
			words = append(words, fmt.Sprintf("%s+%sx%d", text(line[i]), text(step), n-1))
		}
		i += n
	}
	return strings.Join(words, " ")
}

// TestAlerts compares what fires with the table, then the table with what the servers did.
func TestAlerts(t *testing.T) {
	ends := make(map[string]*matrix.Result)
	t.Run("match the table", func(t *testing.T) { alertsMatchTable(t, ends) })
	t.Run("are about problems only", func(t *testing.T) { tableAlertsOnlyOnProblems(t, ends) })
}

// alertsMatchTable notes the last page of each server in each scenario.
func alertsMatchTable(t *testing.T, ends map[string]*matrix.Result) {
	t.Helper()
	_ = fixture.Program(t, "playrules") // Without it this is skipped.
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	want, got := matrix.ParseAlerts(string(text)), make(map[string][]string)
	var mu sync.Mutex
	t.Run("servers", func(t *testing.T) {
		for _, server := range matrix.Servers() {
			t.Run(server.Name, func(t *testing.T) {
				t.Parallel()
				fires, last := firing(t, &server)
				mu.Lock()
				maps.Copy(got, fires)
				maps.Copy(ends, last)
				mu.Unlock()
				for _, scenario := range matrix.Scenarios() {
					if !fixture.Updating() {
						require.Equal(
							t,
							want(server.Name, scenario.Name),
							fires[pool(server.Name, scenario.Name)],
							scenario.Name,
						)
					}
				}
			})
		}
	})
	if !fixture.Updating() || t.Failed() {
		return
	}
	table, err := matrix.Table(
		matrix.Play,
		func(server, scenario string) []string { return got[pool(server, scenario)] },
	)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(table), 0o600))
}

// quiet returns scenarios in which nobody may be notified.
func quiet() []string {
	return []string{
		"healthy",
		"idle from the start", "idle after work", "only client errors", "client errors after success",
		"API does not answer",
		"restart", "a long prefill", "exporter is new, idle server", "exporter is new, healthy server",
	}
}

// allCanceled reports whether requests were canceled and none is known to have ended well.
func allCanceled(last *matrix.Result) bool {
	of := func(class string) float64 {
		n, _ := last.Value("requests_total", "class", class)
		return n
	}
	return of("canceled") > 0 && of("ok")+of("unknown") == 0
}

// requireFiring requires that an alert is among those that fire, or is not.
func requireFiring(t *testing.T, want bool, names []string, name, cell string) {
	t.Helper()
	if want {
		require.Contains(t, names, name, cell)
	} else {
		require.NotContains(t, names, name, cell)
	}
}

// tableAlertsOnlyOnProblems plays what has no last page yet.
func tableAlertsOnlyOnProblems(t *testing.T, ends map[string]*matrix.Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	fires := matrix.ParseAlerts(string(text))
	for _, server := range matrix.Servers() {
		for _, scenario := range matrix.Scenarios() {
			last, names := ends[pool(server.Name, scenario.Name)], fires(server.Name, scenario.Name)
			if last == nil {
				scenario = scenario.Lasting(duration)
				seen, err := matrix.Play(&server, &scenario)
				require.NoError(t, err)
				last = &seen[len(seen)-1]
			}
			cell := server.Name + ", " + scenario.Name
			// Each replica is alone in its pool.
			broken := slices.Contains([]assess.State{assess.Failing, assess.Stalled, assess.Unserved}, last.State)
			if broken {
				require.Contains(t, names, "LLMPoolDown", "%s is %s", cell, last.State)
			}
			requireFiring(t, last.Suspected || allCanceled(last), names, "LLMPoolSuspected", cell)
			requireFiring(t, last.Canary != nil && !*last.Canary, names, "LLMCanaryFailing", cell)
			if scenario.Healthy {
				for _, name := range []string{"LLMReplicaBroken", "LLMPoolDown", "LLMPoolDegraded"} {
					require.NotContains(t, names, name, cell)
				}
			}
			if refused, _ := last.Value("request_error_ratio", "class", "overload"); refused > 0.05 {
				require.Contains(t, names, "LLMPoolSaturated", "%s refuses %.0f %%", cell, 100*refused)
			}
			if slices.Contains(quiet(), scenario.Name) && !last.Suspected {
				// This alert is about objectives that the server cannot measure.
				names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "LLMSLOBlind" })
				require.Empty(t, names, cell)
			}
		}
	}
}
