package alerts_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

// tool returns a program that `make` builds, named by an environment variable. A
// test that cannot have it is skipped, but never so in CI.
func tool(t *testing.T, variable, name string) string {
	t.Helper()
	path := cmp.Or(os.Getenv(variable), filepath.Join("..", ".cache", "bin", name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "`make .cache/bin/%s` builds it", name)
		}
		t.Skipf("%s is not built: `make e2e` builds it", name)
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// run runs a program in a folder and wants it to be content.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOGC=400") // promtool's heap is small, and would be walked all the time.
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestPromtoolAcceptsRulesAndConfiguration(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "PROMTOOL", "promtool")
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
	run(t, dir, promtool, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "plain.yml")
	run(t, dir, promtool, "check", "config", "--lint=all", "prometheus.yml")
}

func TestQuantitiesComeFromOneTier(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/tiers.yaml")
	require.NoError(t, err)
	_, tests, _ := strings.Cut(string(text), "tests:\n")
	check(t, tool(t, "PROMTOOL", "promtool"), needed(t, rendered(t), []byte(tests)), tests)
}

func TestAlertmanagerRouting(t *testing.T) {
	t.Parallel()
	amtool := tool(t, "AMTOOL", "amtool")
	run(t, ".", amtool, "check-config", "alertmanager.yml")
	for _, c := range []struct {
		name     string
		labels   []string
		receiver string
	}{
		{"critical alerts wake somebody", []string{"severity=critical", "pool_id=llama-70b-prod"}, "on-call"},
		{"pools for trying things out wake nobody", []string{"severity=critical", "pool_id=llama-70b-dev"}, "working-day"},
		{"warnings wait", []string{"severity=warning", "pool_id=llama-70b-prod"}, "working-day"},
		{"info goes nowhere", []string{"severity=info", "pool_id=llama-70b-prod"}, "nobody"},
		{"the exporter is in no pool", []string{"severity=critical"}, "on-call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run(t, ".", amtool, append([]string{"config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=" + c.receiver}, c.labels...)...)
		})
	}
}
