package alerts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestPromtoolAcceptsRulesAndConfiguration(t *testing.T) {
	t.Parallel()
	promtool := fixture.Program(t, "promtool")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rendered(t), 0o600))
	without, err := alerts.ParseValues([]byte("cluster_label: ''"))
	require.NoError(t, err)
	plain, err := alerts.Render(without)
	require.NoError(t, err)
	require.NotRegexp(t, `\b(by|on) \(cluster`, string(plain))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain.yml"), plain, 0o600))
	text, err := os.ReadFile("prometheus.yml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yml"), alerts.WithoutPanels(rendered(t)), 0o600))
	fixture.Run(t, dir, promtool, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "plain.yml", "alerts.yml")
	fixture.Run(t, dir, promtool, "check", "config", "--lint=all", "prometheus.yml")
}

// TestPlayrulesAgreesWithPromtool plays a history with gaps, an end and an alert that waits in both programs, with
// what is right and with what is not.
func TestPlayrulesAgreesWithPromtool(t *testing.T) {
	t.Parallel()
	const rules = `groups:
  - name: first
    rules:
      - { record: 'pool:up:sum', expr: 'sum by (pool) (up)' }
      - { record: 'pool:seen:last', expr: 'last_over_time(pool:up:sum[2m])' }
  - name: second
    rules:
      - { alert: Down, expr: 'pool:up:sum == 0', for: 30s, keep_firing_for: 30s, labels: { severity: critical } }
`
	const history = `rule_files: [rules.yml]
evaluation_interval: 15s
group_eval_order: [first, second]
tests:
  - interval: 15s
    input_series:
      - { series: 'up{pool="a",replica="1"}', values: '1x4 0x8 1x8' }
      - { series: 'up{pool="a",replica="2"}', values: '1x4 _x4 0x4 stale' }
      - { series: 'up{pool="b",replica="1"}', values: '0+2x20' }
    promql_expr_test:
      - { expr: '%s', eval_time: %s, exp_samples: [%s] }
`
	playrules, promtool := fixture.Program(t, "playrules"), fixture.Program(t, "promtool")
	const down = `{ labels: 'ALERTS{alertname="Down",alertstate="%s",pool="a",severity="critical"}', value: 1 }`
	pending, firing := fmt.Sprintf(down, "pending"), fmt.Sprintf(down, "firing")
	for _, c := range []struct{ expr, at, right, wrong string }{
		{"ALERTS", "120s", "", pending},
		{"ALERTS", "150s", pending, firing},
		{"ALERTS", "225s", firing, ""},
		{"ALERTS offset 1m", "6m", "", firing},
		{`pool:seen:last{pool=~"b|c"}`, "60s", `{ labels: 'pool:seen:last{pool="b"}', value: 8 }`, "{ labels: '{}', value: 8 }"},
		{`sum(increase(up{pool="b"}[1m]))`, "5m", "{ labels: '{}', value: 8 }", "{ labels: '{}', value: 9 }"},
		{`count_over_time(sum(up{replica="2"})[2m:])`, "3m", "{ labels: '{}', value: 8 }", "{ labels: '{}', value: 4 }"},
		{`sum(count_over_time(up{replica="2"}[2m]))`, "3m", "{ labels: '{}', value: 4 }", "{ labels: '{}', value: 8 }"},
	} {
		for samples, passes := range map[string]bool{c.right: true, c.wrong: false} {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(rules), 0o600))
			text := fmt.Sprintf(history, c.expr, c.at, samples)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "test.yml"), []byte(text), 0o600))
			for _, args := range [][]string{{promtool, "test", "rules", "test.yml"}, {playrules, "test.yml"}} {
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.Equal(t, passes, err == nil, "%s, %s: %s", c.expr, args[0], out)
			}
		}
	}
}

// TestRecords plays files of promtool tests through the shipped rules.
func TestRecords(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"quantities come from one tier":                                      "tiers.yaml",
		"costs count each replica once, whether exporters share them or not": "cost.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			_, tests, _ := strings.Cut(string(text), "tests:\n")
			fixture.PlayRules(t, rendered(t), "15s", tests)
		})
	}
}
