package manifests_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const chart = "deploy/helm/trtllm-exporter"

// helm runs Helm in the folder of the chart.
func helm(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	path := os.Getenv("HELM")
	if path == "" {
		t.Skip("HELM names helm; make check-deploy sets it")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = filepath.Join(root, chart)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return cmd.CombinedOutput()
}

// rendered returns the manifest of the chart with some values.
func rendered(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := helm(t, append([]string{
		"template", "llm", ".", "--namespace=llm", "--kube-version=1.33.0",
	}, args...)...)
	require.NoError(t, err, "%s", out)
	return out
}

// valueSets returns the files of folder ci by name.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, chart, "ci/*-values.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	sets := map[string]string{}
	for _, f := range files {
		sets[strings.TrimSuffix(filepath.Base(f), "-values.yaml")] = "ci/" + filepath.Base(f)
	}
	return sets
}

func TestChartRendersValidObjects(t *testing.T) {
	for name, file := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			out, err := helm(t, "lint", "--strict", "--kube-version=1.33.0", "--values="+file, ".")
			require.NoError(t, err, "%s", out)
			o := decoded(t, rendered(t, "--values="+file))
			for _, pod := range o.pods() {
				if name != "openshift" {
					requireHardened(t, pod)
				}
				requireGoodFlags(t, exporter(pod))
				requireMounted(t, pod)
				// The configuration of the first is somebody else's, that of the second needs the cluster that it runs in.
				if name != "placed" && name != "pods" {
					requireStarts(t, exporter(pod), o)
				}
			}
			requireReachable(t, o)
			requireGoodConfig(t, o)
			require.Empty(t, all[*rbacv1.ClusterRole](o))
		})
	}
}

// requireMounted requires that volumes and mounts match.
func requireMounted(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	var volumes, mounts []string
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, m := range exporter(pod).VolumeMounts {
		mounts = append(mounts, m.Name)
	}
	require.ElementsMatch(t, volumes, mounts)
}

func TestChartRejectsMistakes(t *testing.T) {
	for value, message := range map[string]string{
		"mode=everywhere":                        "mode",
		"replica=2":                              "replica",
		"web.port=nine":                          "web",
		"serviceMonitor.intervall=5s":            "intervall",
		"autoscaling.kind=vpa":                   "kind",
		"config=none":                            "config",
		"shards=0":                               "shards",
		"prometheusRule.files.gpus=false":        "gpus",
		"prometheusRule.values.gpu_idle_forr=1m": "is unknown",
		"prometheusRule.disabled={LLMNothing}":   "there is no alert LLMNothing",
		"dashboards.disabled={nothing}":          "there is no dashboard nothing",
		"securityContext.runAsNonroot=yes":       "",
	} {
		out, err := helm(
			t,
			"template",
			"llm",
			".",
			"--kube-version=1.33.0",
			"--set",
			"prometheusRule.enabled=true,dashboards.enabled=true",
			"--set",
			value,
		)
		if message == "" {
			// Kubernetes checks what the chart passes on unchanged.
			require.NoError(t, err, "%s", out)
			_, err = decode(t, out)
			require.ErrorContains(t, err, "unknown field")
			continue
		}
		require.Error(t, err, value)
		require.Contains(t, string(out), message, value)
	}
}

func TestChartSetsNumberOfShards(t *testing.T) {
	o := decoded(t, rendered(t, "--values=ci/sharded-values.yaml"))
	require.EqualValues(t, 5, *one[*appsv1.StatefulSet](t, o).Spec.Replicas)
	require.Contains(t, one[*corev1.ConfigMap](t, o).Data["config.yml"], "sharding:\n  total: 5\n")
}

// TestChartPassesConfigThrough has every key of the configuration, with a value and without one.
func TestChartPassesConfigThrough(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"every_key.yml", "empty_keys.yml"} {
		file := filepath.Join(root, "collector/config/testdata", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var want map[string]any
			require.NoError(t, yaml.Unmarshal(text, &want))
			values, err := yaml.Marshal(map[string]any{"config": want})
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "values.yaml")
			require.NoError(t, os.WriteFile(path, values, 0o644))
			o := decoded(t, rendered(t, "--show-only=templates/configmap.yaml", "--values="+path))
			var got map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(one[*corev1.ConfigMap](t, o).Data["config.yml"]), &got))
			require.Equal(t, want, got)
		})
	}
}

func TestChartHasEveryFlag(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), binary(t), "serve", "--help").CombinedOutput()
	require.NoError(t, err, "%s", out)
	used := string(
		rendered(
			t,
			"--values=ci/sharded-values.yaml",
			"--values=ci/secure-values.yaml",
			"--set=prometheusRule.values.runbook=https://wiki.example,prometheusRule.values.grafana=https://grafana.example",
		),
	) + string(rendered(t, "--set=mode=sidecar"))
	// These are for use without a file; the file or extraArgs name the pool.
	without := []string{"help", "version", "target", "scrape.interval", "scrape.timeout", "pool-id"}
	flags := regexp.MustCompile(`(?m)^ +--(?:\[no-\])?([a-z.-]+)`).FindAllStringSubmatch(string(out), -1)
	require.Greater(t, len(flags), 10)
	for _, f := range flags {
		require.Equal(t, !slices.Contains(without, f[1]), strings.Contains(used, "- --"+f[1]), "--%s", f[1])
	}
}

func TestChartRulesCanBeDisabled(t *testing.T) {
	o := decoded(t, rendered(t, "--values=ci/operator-values.yaml"))
	rule := one[*monitoringv1.PrometheusRule](t, o)
	text, err := json.Marshal(rule.Spec)
	require.NoError(t, err)
	require.Contains(t, string(text), "LLMPoolSaturated")
	require.Contains(t, string(text), "[10m]")
	require.NotContains(t, string(text), `"alert":"LLMReplicaRestarts"`)
	require.NotContains(t, string(text), `"alert":"LLMGPUMissing"`)
	require.Contains(t, string(text), `job=\"llm\"`)
	require.NotContains(t, string(text), "${")
}

func TestChartAutoscaling(t *testing.T) {
	o := decoded(t, rendered(t, "--values=ci/keda-values.yaml"))
	scaled := one[*kedav1alpha1.ScaledObject](t, o)
	require.Len(t, scaled.Spec.Triggers, 2)
	require.Equal(
		t,
		`max(pool:llm_server_saturation:sum{pool_id="llama-70b-prod"})`,
		scaled.Spec.Triggers[0].Metadata["query"],
	)
	require.Equal(t, "0.8", scaled.Spec.Triggers[0].Metadata["threshold"])

	o = decoded(t, rendered(t, "--values=ci/hpa-values.yaml"))
	hpa := one[*autoscalingv2.HorizontalPodAutoscaler](t, o)
	require.Equal(t, "LeaderWorkerSet", hpa.Spec.ScaleTargetRef.Kind)
	require.Equal(t, "700m", hpa.Spec.Metrics[0].External.Target.AverageValue.String())
	require.Equal(
		t,
		map[string]string{"pool_id": "llama-405b"},
		hpa.Spec.Metrics[0].External.Metric.Selector.MatchLabels,
	)
}

// sidecars returns the parts of pods that the chart's notes show.
func sidecars(o objects) []string {
	var found []string
	for _, m := range all[*corev1.ConfigMap](o) {
		if text, ok := m.Data["sidecar.yaml"]; ok {
			found = append(found, text)
		}
	}
	return found
}

// sidecar decodes the part of a pod.
func sidecar(text string) (*corev1.PodTemplateSpec, error) {
	pod := &corev1.PodTemplateSpec{}
	return pod, yaml.UnmarshalStrict([]byte(text), pod)
}

func TestChartNotesHaveValidSidecar(t *testing.T) {
	for name, args := range map[string][]string{
		"as documented": {"--set=mode=sidecar,podMonitor.enabled=true"},
		"with a pool":   {"--values=ci/sidecar-values.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			o := decoded(t, rendered(t, args...))
			require.Len(t, sidecars(o), 1)
			pod, err := sidecar(sidecars(o)[0])
			require.NoError(t, err)
			requireHardened(t, pod)
			requireGoodFlags(t, exporter(pod))
			requireMounted(t, pod)
			requireStarts(t, exporter(pod), o)
			require.Contains(t, configOf(t, o), "localhost:8002")
			require.Contains(t, exporter(pod).Args, "--replica-id=$(POD_NAME)")
			require.Equal(t, corev1.ContainerRestartPolicyAlways, *exporter(pod).RestartPolicy)
			monitor := one[*monitoringv1.PodMonitor](t, o)
			require.Equal(t, monitor.Spec.Selector.MatchLabels, pod.Labels)
			require.Equal(t, exporter(pod).Ports[0].Name, *monitor.Spec.PodMetricsEndpoints[0].Port)
		})
	}
}

func TestInstallPageValuesAreValid(t *testing.T) {
	o := decoded(t, rendered(t, "--values="+installValues(t)))
	requireGoodConfig(t, o)
	require.Contains(t, one[*corev1.ConfigMap](t, o).Data["config.yml"], "app=vllm")
}

func TestInstallPageFilesExist(t *testing.T) {
	for _, match := range regexp.MustCompile(`deploy/[a-z./_-]+[a-z]`).FindAllString(string(read(t, "docs/install.md")), -1) {
		_, err := os.Stat(filepath.Join(root, match))
		require.NoError(t, err)
	}
}
