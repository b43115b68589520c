package manifests_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// requireWholeRelease requires that the values install an exporter with scraping, rules and
// dashboards.
func requireWholeRelease(t *testing.T, values any) {
	t.Helper()
	text, err := yaml.Marshal(values)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	o := decoded(t, rendered(t, "--values="+path))
	requireGoodConfig(t, o)
	requireReachable(t, o)
	require.Equal(t, "prometheus", one[*monitoringv1.ServiceMonitor](t, o).Labels["release"])
	require.Equal(t, "prometheus", one[*monitoringv1.PrometheusRule](t, o).Labels["release"])
	require.Len(t, all[*corev1.ConfigMap](o), 9, "the configuration and eight dashboards")
}

// object decodes the object of a kind that has no Go types here.
func object(t *testing.T, text []byte, kind string) (read func(path ...string) any) {
	t.Helper()
	var o map[string]any
	require.NoError(t, yaml.UnmarshalStrict(text, &o))
	require.Equal(t, kind, fmt.Sprint(o["apiVersion"], " ", o["kind"]))
	return func(path ...string) any {
		value, found, err := unstructured.NestedFieldNoCopy(o, path...)
		require.NoError(t, err)
		require.True(t, found, "%s", path)
		return value
	}
}

func TestArgoCDDeploysWholeRelease(t *testing.T) {
	app := object(t, read(t, "deploy/gitops/argocd.yaml"), "argoproj.io/v1alpha1 Application")
	require.Equal(t, "trtllm-exporter", app("spec", "source", "chart"))
	require.NotContains(t, app("spec", "source", "repoURL"), "oci://", "Argo CD writes registries without it")
	require.Contains(t, app("spec", "syncPolicy", "syncOptions"), "ServerSideApply=true")
	requireWholeRelease(t, app("spec", "source", "helm", "valuesObject"))
}

func TestFluxDeploysWholeRelease(t *testing.T) {
	first, second, found := bytes.Cut(read(t, "deploy/gitops/flux.yaml"), []byte("\n---\n"))
	require.True(t, found, "the file has two objects")
	from := object(t, first, "source.toolkit.fluxcd.io/v1 OCIRepository")
	release := object(t, second, "helm.toolkit.fluxcd.io/v2 HelmRelease")
	require.Contains(
		t,
		string(read(t, ".github/workflows/release.yml")),
		`"oci://ghcr.io/$OWNER/charts"`,
		"where releases put the chart",
	)
	require.Equal(t, "oci://ghcr.io/trtllm-exporter/charts/trtllm-exporter", from("spec", "url"))
	require.Equal(t, map[string]any{
		"kind": "OCIRepository",
		"name": from("metadata", "name"),
	}, release("spec", "chartRef"))
	requireWholeRelease(t, release("spec", "values"))
}
