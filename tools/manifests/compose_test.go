package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// composed loads files like docker compose.
func composed(t *testing.T, env []string, files ...string) (*types.Project, error) {
	t.Helper()
	for i, f := range files {
		if !filepath.IsAbs(f) {
			files[i] = filepath.Join(root, "deploy/compose", f)
		}
	}
	options, err := cli.NewProjectOptions(files, cli.WithEnv(env), cli.WithInterpolation(true))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

func TestComposeFilesAreValid(t *testing.T) {
	for name, files := range map[string][]string{
		"simulated": {"compose.yaml"},
		"triton":    {"compose.yaml", "compose.triton.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			project, err := composed(t, []string{"MODELS=" + t.TempDir()}, files...)
			require.NoError(t, err)
			for _, s := range project.Services {
				_, tag, tagged := strings.Cut(filepath.Base(s.Image), ":")
				require.True(t, tagged && tag != "latest", "%s is not pinned", s.Image)
				for _, p := range s.Ports {
					require.Equal(t, "127.0.0.1", p.HostIP, "%s opens %s to everybody", s.Name, p.Published)
				}
				for _, v := range s.Volumes {
					if v.Type == types.VolumeTypeBind {
						require.True(t, v.ReadOnly, v.Source)
						_, err := os.Stat(v.Source)
						require.NoError(t, err)
					}
				}
			}
			exporter := project.Services["exporter"]
			require.True(t, exporter.ReadOnly, "nothing can be written in the container")
			require.Equal(t, []string{"ALL"}, exporter.CapDrop)
			require.Equal(t, "CMD /trtllm_exporter healthcheck", strings.Join(exporter.HealthCheck.Test, " "))
			out, err := exec.CommandContext(t.Context(), binary(t), append(exporter.Command, "--help")...).
				CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

func TestComposeConfigurationsAreValid(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), binary(t), "check-config", filepath.Join(root, "deploy/compose/triton.yml")).
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = promtool(t, "check", "config", "--syntax-only", filepath.Join(root, "deploy/compose/prometheus.yml"))
	require.NoError(t, err, "%s", out)

	project, err := composed(t, nil, "compose.yaml")
	require.NoError(t, err)
	var config struct {
		RuleFiles []string `yaml:"rule_files"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, "deploy/compose/prometheus.yml"), &config))
	mounted := map[string]string{}
	for _, v := range project.Services["prometheus"].Volumes {
		mounted[v.Target] = v.Source
	}
	for _, f := range config.RuleFiles {
		source := mounted["/etc/prometheus/"+f]
		require.NotEmpty(t, source, f)
		out, err := promtool(t, "check", "rules", source)
		require.NoError(t, err, "%s", out)
	}
	home := project.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.FileExists(t, filepath.Join(root, "dashboards/json", filepath.Base(*home)))
}

// promtool runs Prometheus' checks.
func promtool(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	path := os.Getenv("PROMTOOL")
	if path == "" {
		t.Skip("PROMTOOL names promtool; make check-deploy sets it")
	}
	return exec.CommandContext(t.Context(), path, args...).CombinedOutput()
}
