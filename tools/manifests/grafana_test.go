package manifests_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// grafanaDashboard has the fields of the Grafana operator's kind that the chart uses
// (grafana.integreatly.org/v1beta1, GrafanaDashboardSpec).
type grafanaDashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		InstanceSelector *metav1.LabelSelector `json:"instanceSelector"`
		Folder           string                `json:"folder,omitempty"`
		JSON             string                `json:"json,omitempty"`
	} `json:"spec"`
}

// DeepCopyObject implements [runtime.Object]. It returns the same object, because no test
// changes one.
func (d *grafanaDashboard) DeepCopyObject() runtime.Object { return d }

// addGrafana adds the kind to a scheme.
func addGrafana(s *runtime.Scheme) {
	s.AddKnownTypeWithName(schema.GroupVersionKind{
		Group:   "grafana.integreatly.org",
		Version: "v1beta1",
		Kind:    "GrafanaDashboard",
	}, &grafanaDashboard{})
}

func TestGrafanaOperatorDashboards(t *testing.T) {
	o := decoded(t, rendered(t, "--values=ci/openshift-values.yaml"))
	dashboards := all[*grafanaDashboard](o)
	require.Len(t, dashboards, 8)
	for _, d := range dashboards {
		require.True(t, json.Valid([]byte(d.Spec.JSON)), d.Name)
		require.Equal(t, map[string]string{"dashboards": "llm"}, d.Spec.InstanceSelector.MatchLabels)
		require.Equal(t, "LLM", d.Spec.Folder)
	}
}

func TestOpenShiftAssignsUser(t *testing.T) {
	for _, values := range []string{"openshift", "sidecar"} {
		o := decoded(t, rendered(t, "--values=ci/"+values+"-values.yaml", "--set=openshift=true"))
		for _, text := range sidecars(o) {
			pod, err := sidecar(text)
			require.NoError(t, err)
			requireConfined(t, pod)
			require.Nil(t, exporter(pod).SecurityContext.RunAsUser)
			require.True(t, *exporter(pod).SecurityContext.RunAsNonRoot, "the container does not run as root")
		}
		for _, d := range all[*appsv1.Deployment](o) {
			pod := &d.Spec.Template
			requireConfined(t, pod)
			require.Nil(t, pod.Spec.SecurityContext.RunAsUser)
			require.Nil(t, pod.Spec.SecurityContext.RunAsGroup)
			require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot, "the pod does not run as root")
		}
	}
}
