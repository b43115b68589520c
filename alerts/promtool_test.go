package alerts_test

import (
	"os"
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
			check(t, rendered(t), "15s", tests)
		})
	}
}

func TestAlertmanagerRouting(t *testing.T) {
	t.Parallel()
	amtool := fixture.Program(t, "amtool")
	fixture.Run(t, ".", amtool, "check-config", "alertmanager.yml")
	for _, c := range []struct {
		name     string
		labels   []string
		receiver string
	}{
		{"critical alerts page", []string{"severity=critical", "pool_id=llama-70b-prod"}, "on-call"},
		{
			"alerts of development pools do not page",
			[]string{"severity=critical", "pool_id=llama-70b-dev"},
			"working-day",
		},
		{"warnings are for working hours", []string{"severity=warning", "pool_id=llama-70b-prod"}, "working-day"},
		{"info is not sent", []string{"severity=info", "pool_id=llama-70b-prod"}, "nobody"},
		{"alerts without a pool page", []string{"severity=critical"}, "on-call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fixture.Run(t, ".", amtool, append([]string{
				"config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=" + c.receiver,
			}, c.labels...)...)
		})
	}
}
