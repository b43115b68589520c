package manifests_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// strictDecoder decodes every kind in deploy, and refuses unknown and repeated fields.
func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(s))
	require.NoError(t, monitoringv1.AddToScheme(s))
	require.NoError(t, kedav1alpha1.AddToScheme(s))
	require.NoError(t, gatewayv1.Install(s))
	addGrafana(s)
	return serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
}

// objects holds the decoded documents of a manifest.
type objects []runtime.Object

// decode decodes every document of a manifest.
func decode(t *testing.T, manifest []byte) (objects, error) {
	t.Helper()
	decoder := strictDecoder(t)
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var all objects
	var errs []error
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, errors.Join(errs...)
		}
		require.NoError(t, err)
		if onlyComments(doc) {
			continue
		}
		object, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, object)
	}
}

// decoded decodes every document of a valid manifest.
func decoded(t *testing.T, manifest []byte) objects {
	t.Helper()
	o, err := decode(t, manifest)
	require.NoError(t, err)
	return o
}

// onlyComments reports whether a document is empty apart from comments.
func onlyComments(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// all returns the objects of a kind.
func all[T runtime.Object](o objects) []T {
	var found []T
	for _, object := range o {
		if one, ok := object.(T); ok {
			found = append(found, one)
		}
	}
	return found
}

// one returns the only object of a kind.
func one[T runtime.Object](t *testing.T, o objects) T {
	t.Helper()
	found := all[T](o)
	require.Len(t, found, 1)
	return found[0]
}

// pods returns the pod templates of workloads.
func (o objects) pods() map[string]*corev1.PodTemplateSpec {
	found := map[string]*corev1.PodTemplateSpec{}
	for _, d := range all[*appsv1.Deployment](o) {
		found["Deployment "+d.Name] = &d.Spec.Template
	}
	for _, s := range all[*appsv1.StatefulSet](o) {
		found["StatefulSet "+s.Name] = &s.Spec.Template
	}
	return found
}

// exporter returns the exporter's container in a pod.
func exporter(pod *corev1.PodTemplateSpec) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if strings.Contains(list[i].Image, "trtllm_exporter") {
				return &list[i]
			}
		}
	}
	return nil
}

// requireHardened checks the security settings that every exporter has, including its user.
func requireHardened(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	requireConfined(t, pod)
	security := exporter(pod).SecurityContext
	effective := corev1.SecurityContext{
		RunAsNonRoot:   security.RunAsNonRoot,
		RunAsUser:      security.RunAsUser,
		SeccompProfile: security.SeccompProfile,
	}
	if p := pod.Spec.SecurityContext; p != nil && effective.RunAsUser == nil {
		effective = corev1.SecurityContext{
			RunAsNonRoot:   p.RunAsNonRoot,
			RunAsUser:      p.RunAsUser,
			SeccompProfile: p.SeccompProfile,
		}
	}
	require.True(t, *effective.RunAsNonRoot, "the container does not run as root")
	require.EqualValues(t, 65532, *effective.RunAsUser)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, effective.SeccompProfile.Type)
}

// requireConfined checks the settings that do not depend on the user.
func requireConfined(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	c := exporter(pod)
	require.NotNil(t, c)
	security := c.SecurityContext
	require.NotNil(t, security)
	require.True(t, *security.ReadOnlyRootFilesystem, "nothing can be written in the container")
	require.False(t, *security.AllowPrivilegeEscalation, "no more rights than at its start")
	require.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop)
	require.Empty(t, security.Capabilities.Add)

	require.NotContains(t, c.Image, ":latest")
	require.NotNil(t, c.LivenessProbe)
	require.Equal(t, "/-/healthy", c.LivenessProbe.HTTPGet.Path)
	require.False(t, c.Resources.Limits.Memory().IsZero(), "the container has a limit of memory")
	require.False(t, c.Resources.Requests.Cpu().IsZero(), "the container requests a processor")
	require.True(t, c.Resources.Limits.Cpu().IsZero(), "a CPU limit makes scrapes late")
}

// requireReachable requires that selectors match the exporter's pods.
func requireReachable(t *testing.T, o objects) {
	t.Helper()
	for name, pod := range o.pods() {
		labels := pod.Labels
		for _, s := range all[*corev1.Service](o) {
			require.Subset(t, labels, s.Spec.Selector, "Service %s and %s", s.Name, name)
		}
		for _, p := range all[*policyv1.PodDisruptionBudget](o) {
			require.Subset(t, labels, p.Spec.Selector.MatchLabels, "PodDisruptionBudget %s and %s", p.Name, name)
		}
		for _, p := range all[*networkingv1.NetworkPolicy](o) {
			require.Subset(t, labels, p.Spec.PodSelector.MatchLabels, "NetworkPolicy %s and %s", p.Name, name)
		}
		for _, m := range all[*monitoringv1.PodMonitor](o) {
			if exporter(pod).RestartPolicy != nil {
				require.Subset(t, labels, m.Spec.Selector.MatchLabels)
				require.Equal(t, exporter(pod).Ports[0].Name, *m.Spec.PodMetricsEndpoints[0].Port)
			}
		}
	}
	monitors := all[*monitoringv1.ServiceMonitor](o)
	for _, m := range monitors {
		selected := 0
		for _, s := range all[*corev1.Service](o) {
			if subset(s.Labels, m.Spec.Selector.MatchLabels) {
				selected++
				require.Equal(t, s.Spec.Ports[0].Name, m.Spec.Endpoints[0].Port)
			}
		}
		if len(all[*corev1.Service](o)) > 0 {
			require.Equal(t, 1, selected, "ServiceMonitor %s scrapes each pod once", m.Name)
		}
		require.True(t, m.Spec.Endpoints[0].HonorLabels, "labels of the targets stay")
	}
}

// subset reports whether labels contain all others.
func subset(labels, others map[string]string) bool {
	for name, value := range others {
		if labels[name] != value {
			return false
		}
	}
	return true
}
