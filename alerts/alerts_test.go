package alerts_test

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

// rendered returns the rules with their default values.
func rendered(t *testing.T) []byte {
	t.Helper()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	text, err := alerts.Render(v)
	require.NoError(t, err)
	return text
}

// rule is a rule as Prometheus reads it.
type rule struct {
	Alert       string            `yaml:"alert"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// rules returns all rules in the order of evaluation.
func rules(t *testing.T) []rule {
	t.Helper()
	return parsed(t, rendered(t))
}

func parsed(t *testing.T, text []byte) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

func TestEveryAlertHasRunbookSection(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("runbook.md")
	require.NoError(t, err)
	sections := make(map[string]bool)
	for _, part := range strings.Split(string(text), "\n### ")[1:] {
		title, _, _ := strings.Cut(part, "\n")
		sections[title] = true
	}
	written := maps.Clone(sections)
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		require.True(t, written[r.Alert], r.Alert)
		delete(sections, r.Alert)
	}
	require.Empty(t, sections, "sections of no alert")
}

// TestPagesSurvivePrometheusRestart checks that a page is sent again before Alertmanager
// resolves it: after a restart Prometheus forgets a "for" of up to ten minutes.
func TestPagesSurvivePrometheusRestart(t *testing.T) {
	t.Parallel()
	const restart, resolved = 90 * time.Second, 4 * time.Minute
	for _, r := range rules(t) {
		if r.Labels["severity"] == "critical" {
			again, err := model.ParseDuration(r.For)
			require.NoError(t, err, r.Alert)
			require.Less(t, restart+time.Duration(again), resolved, r.Alert)
		}
	}
}

func TestThresholdsCanBeOverridden(t *testing.T) {
	t.Parallel()
	v, err := alerts.ParseValues([]byte("first_token_seconds_max: 12\nslow_for: 2m\n"))
	require.NoError(t, err)
	text, err := alerts.Render(v)
	require.NoError(t, err)
	require.Contains(t, string(text), "> 12 or")
	require.NotContains(t, string(rendered(t)), "> 12 or")
	require.NotContains(t, string(text), "${")
	require.NotEqual(t, string(rendered(t)), string(text))

	_, err = alerts.ParseValues([]byte("first_token_max: 8\n"))
	require.EqualError(t, err, "unknown key first_token_max: `trtllm_exporter rules --print-values` lists them")
	_, err = alerts.ParseValues([]byte("slow_for: [2m]\n"))
	require.ErrorContains(t, err, "values of rules: ")
	_, err = alerts.ParseValues([]byte("slow_for: 2m\n---\nslow_for: 3m\n"))
	require.EqualError(t, err, "values of rules: line 2: a second document starts here; put all into one and remove the line ---")
	_, err = alerts.ParseValues([]byte("# nothing\n"))
	require.NoError(t, err)
}

func TestRateWindowIsFourScrapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ scrape, evaluation, window, wrong string }{
		{"5s", "15s", "20s", ""},
		{"15s", "15s", "1m", ""},
		{"30s", "15s", "2m", ""},
		{"1m", "15s", "4m", ""},
		{"5s", "30s", "30s", ""},
		{
			"61s", "15s", "",
			"scrape_interval: 61s is longer than 1m, but the rules need four scrapes in five minutes; scrape the " +
				"exporter more often",
		},
		{"0s", "15s", "", `scrape_interval: "0s" is not a duration; write it like 15s`},
		{"15s", "often", "", `evaluation_interval: "often" is not a duration; write it like 15s`},
	} {
		v, err := alerts.ParseValues(
			[]byte("scrape_interval: " + c.scrape + "\nevaluation_interval: " + c.evaluation + "\n"),
		)
		require.NoError(t, err)
		text, err := alerts.Render(v)
		if c.wrong != "" {
			require.EqualError(t, err, c.wrong)
			continue
		}
		require.NoError(t, err)
		require.Contains(t, string(text), "rate(llm_server_slo_requests_total{tier!=\"worker\"}["+c.window+"])")
	}
}

func TestAlertsLinkToTheRunbookOfTheRunningVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ values, runbook string }{
		{"exporter: http://e:9802", "http://e:9802/runbook#"},
		{"exporter: http://e:9802\nrunbook: http://own/rb", "http://own/rb#"},
		{"runbook: http://own/rb", "http://own/rb#"},
	} {
		v, err := alerts.ParseValues([]byte(c.values))
		require.NoError(t, err)
		text, err := alerts.Render(v)
		require.NoError(t, err)
		for _, r := range parsed(t, text) {
			if r.Alert != "" {
				require.Equal(t, c.runbook+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
			}
		}
	}
	require.NotContains(t, string(rendered(t)), "runbook_url", "nobody said where a runbook is")
}

func TestEveryThresholdIsUsed(t *testing.T) {
	t.Parallel()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	for key := range v {
		less, err := alerts.DefaultValues()
		require.NoError(t, err)
		delete(less, key)
		_, err = alerts.Render(less)
		require.ErrorContains(t, err, "no value for ${"+key+"}")
	}
}

func TestCommittedRulesAreUpToDate(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	require.Equal(t, string(rendered(t)), string(got), "run `make generate`")
}
