package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// What the examples use of the kinds of Argo CD (v1alpha1), and of Flux
// (OCIRepository v1, HelmRelease v2).
type (
	application struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Project string `json:"project"`
			Source  struct {
				RepoURL        string `json:"repoURL"`
				Chart          string `json:"chart"`
				TargetRevision string `json:"targetRevision"`
				Helm           struct {
					ValuesObject map[string]any `json:"valuesObject"`
				} `json:"helm"`
			} `json:"source"`
			Destination struct {
				Server    string `json:"server"`
				Namespace string `json:"namespace"`
			} `json:"destination"`
			SyncPolicy struct {
				Automated struct {
					Prune    bool `json:"prune"`
					SelfHeal bool `json:"selfHeal"`
				} `json:"automated"`
				SyncOptions []string `json:"syncOptions"`
			} `json:"syncPolicy"`
		} `json:"spec"`
	}
	ociRepository struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Interval string `json:"interval"`
			URL      string `json:"url"`
			Ref      struct {
				Semver string `json:"semver"`
			} `json:"ref"`
			LayerSelector struct {
				MediaType string `json:"mediaType"`
				Operation string `json:"operation"`
			} `json:"layerSelector"`
		} `json:"spec"`
	}
	helmRelease struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Interval string `json:"interval"`
			ChartRef struct {
				Kind string `json:"kind"`
				Name string `json:"name"`
			} `json:"chartRef"`
			Values map[string]any `json:"values"`
		} `json:"spec"`
	}
)

// requireWholeRelease wants values with which the chart makes an exporter that
// is scraped, with rules and dashboards.
func requireWholeRelease(t *testing.T, values map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(values)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	o, err := decode(t, rendered(t, "--values="+path))
	require.NoError(t, err)
	requireGoodConfig(t, o)
	requireReachable(t, o)
	require.Equal(t, "prometheus", one[*monitoringv1.ServiceMonitor](t, o).Labels["release"])
	require.Equal(t, "prometheus", one[*monitoringv1.PrometheusRule](t, o).Labels["release"])
	require.Len(t, all[*corev1.ConfigMap](o), 8, "the configuration and seven dashboards")
}

func TestArgoCDGetsTheWholeRelease(t *testing.T) {
	var app application
	require.NoError(t, yaml.UnmarshalStrict(read(t, "deploy/gitops/argocd.yaml"), &app))
	require.Equal(t, "argoproj.io/v1alpha1 Application", app.APIVersion+" "+app.Kind)
	require.Equal(t, "trtllm-exporter", app.Spec.Source.Chart)
	require.NotContains(t, app.Spec.Source.RepoURL, "oci://", "Argo CD writes registries without it")
	require.Contains(t, app.Spec.SyncPolicy.SyncOptions, "ServerSideApply=true")
	requireWholeRelease(t, app.Spec.Source.Helm.ValuesObject)
}

func TestFluxGetsTheWholeRelease(t *testing.T) {
	first, second, found := bytes.Cut(read(t, "deploy/gitops/flux.yaml"), []byte("\n---\n"))
	require.True(t, found)
	var from ociRepository
	require.NoError(t, yaml.UnmarshalStrict(first, &from))
	var release helmRelease
	require.NoError(t, yaml.UnmarshalStrict(second, &release))
	require.Equal(t, "source.toolkit.fluxcd.io/v1 OCIRepository", from.APIVersion+" "+from.Kind)
	require.Equal(t, "helm.toolkit.fluxcd.io/v2 HelmRelease", release.APIVersion+" "+release.Kind)
	require.Contains(t, string(read(t, ".github/workflows/release.yml")), `"oci://ghcr.io/$OWNER/charts"`, "where releases put the chart")
	require.Equal(t, "oci://ghcr.io/trtllm-exporter/charts/trtllm-exporter", from.Spec.URL)
	require.Equal(t, []string{from.Kind, from.Name}, []string{release.Spec.ChartRef.Kind, release.Spec.ChartRef.Name})
	requireWholeRelease(t, release.Spec.Values)
}
