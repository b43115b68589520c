//go:build e2e_kube

package manifests_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestClusterAcceptsManifests(t *testing.T) {
	s := cluster(t)
	all := everyManifest(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			objects := documents(t, all[name])
			require.NotEmpty(t, objects)
			for _, o := range objects {
				status, answer := s.post(t, s.collection(t, o), o, dryRun)
				require.Equal(t, http.StatusCreated, status, "%s %s: %s", o.GetKind(), o.GetName(), answer)
			}
		})
	}
}

// pod returns a pod of a workload with only the exporter.
func pod(t *testing.T, template *corev1.PodTemplateSpec) *unstructured.Unstructured {
	t.Helper()
	c := exporter(template).DeepCopy()
	c.RestartPolicy = nil
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "exporter", Namespace: "restricted"},
		Spec:       *template.Spec.DeepCopy(),
	}
	p.Spec.InitContainers, p.Spec.Containers = nil, []corev1.Container{*c}
	p.Status = corev1.PodStatus{}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&p)
	require.NoError(t, err)
	o := &unstructured.Unstructured{Object: object}
	o.SetAPIVersion("v1")
	o.SetKind("Pod")
	return o
}

// docs/install.md promises the Pod Security Standard "restricted"; this asks the admission
// of the API server.
func TestClusterAdmitsRestrictedPods(t *testing.T) {
	s := cluster(t)
	s.create(t, namespace("restricted", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}))
	checked := 0
	for name, manifest := range everyManifest(t) {
		o := decoded(t, manifest)
		pods := o.pods()
		for _, text := range sidecars(o) {
			copied, err := sidecar(text)
			require.NoError(t, err)
			pods["the sidecar to copy"] = copied
		}
		for workload, template := range pods {
			if exporter(template) == nil {
				continue
			}
			p := pod(t, template)
			status, answer := s.post(t, s.collection(t, p), p, dryRun)
			require.Equal(t, http.StatusCreated, status, "%s, %s: %s", name, workload, answer)
			checked++

			exporter(template).SecurityContext.Capabilities.Drop = nil
			p = pod(t, template)
			status, answer = s.post(t, s.collection(t, p), p, dryRun)
			require.Equal(t, http.StatusForbidden, status, "%s, %s: %s", name, workload, answer)
		}
	}
	require.Greater(t, checked, 10)
}
