package alerts_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

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

func TestPromtoolTakesRulesAndConfiguration(t *testing.T) {
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

func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "PROMTOOL", "promtool")
	all := rendered(t)
	paths, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, dir, promtool, append([]string{"test", "rules"}, cases(t, dir, path, all)...)...)
		})
	}
}

// cases writes each test of a file into one of its own, with the rules that it
// needs next to it, and returns their names.
func cases(t *testing.T, dir, path string, all []byte) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		Rules      []string    `yaml:"rule_files"`
		Evaluation string      `yaml:"evaluation_interval"`
		Fuzzy      bool        `yaml:"fuzzy_compare"`
		Order      []string    `yaml:"group_eval_order,flow"`
		Tests      []yaml.Node `yaml:"tests"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	tests := file.Tests
	names := make([]string, len(tests))
	for i := range tests {
		one, err := yaml.Marshal(&tests[i])
		require.NoError(t, err)
		rules := needed(t, all, one)
		file.Rules, file.Tests = []string{fmt.Sprintf("rules-%d.yml", i)}, tests[i:i+1]
		file.Order = groupNames(t, rules)
		one, err = yaml.Marshal(&file)
		require.NoError(t, err)
		names[i] = fmt.Sprintf("test-%d.yml", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file.Rules[0]), rules, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, names[i]), one, 0o600))
	}
	return names
}

func TestAlertmanagerTakesItsConfiguration(t *testing.T) {
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
