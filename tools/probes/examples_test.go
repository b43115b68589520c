package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// example is the container of a server in an example.
type example struct {
	name      string
	container *corev1.Container
}

// examples returns the examples in docs/probes.md over HTTP and gRPC, in the overlay, and in
// the notes of the chart.
func examples(t *testing.T) []example {
	t.Helper()
	ofDocs := documented(t)
	overGRPC := *ofDocs.DeepCopy()
	grpc := regexp.MustCompile("`(grpc: \\{[^`]+\\})`").FindStringSubmatch(read(t, "docs", "probes.md"))
	require.NotNil(t, grpc, "docs/probes.md has the probe over gRPC")
	overGRPC.ReadinessProbe.HTTPGet = nil
	require.NoError(t, yaml.UnmarshalStrict([]byte(grpc[1]), overGRPC.ReadinessProbe))
	return []example{
		{"docs/probes.md", ofDocs},
		{"docs/probes.md over gRPC", &overGRPC},
		{"the sidecar overlay", ofOverlay(t)},
		{"the chart's notes", ofChart(t)},
	}
}

func documented(t *testing.T) *corev1.Container {
	t.Helper()
	_, section, found := strings.Cut(read(t, "docs", "probes.md"), "\n## Kubernetes\n")
	require.True(t, found, "docs/probes.md has a section about Kubernetes")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var spec struct {
		Containers []corev1.Container `json:"containers"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(block), &spec))
	require.Len(t, spec.Containers, 1)
	return &spec.Containers[0]
}

func ofOverlay(t *testing.T) *corev1.Container {
	t.Helper()
	var server appsv1.Deployment
	require.NoError(
		t,
		yaml.UnmarshalStrict([]byte(read(t, "deploy", "kubernetes", "overlays", "sidecar", "triton.yaml")), &server),
	)
	return &server.Spec.Template.Spec.Containers[0]
}

// ofChart returns a container with the readiness probe of the chart's notes. Helm prints
// them only during an installation, so an extra object includes their template.
func ofChart(t *testing.T) *corev1.Container {
	t.Helper()
	helm := os.Getenv("HELM")
	require.NotEmpty(t, helm, "run by `make e2e-probes`")
	require.Contains(
		t,
		read(t, "deploy", "helm", "trtllm-exporter", "templates", "NOTES.txt"),
		`include "trtllm-exporter.readiness" .`,
	)
	values := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(
		t,
		os.WriteFile(
			values,
			[]byte(`extraObjects: [ { offered: '{{ include "trtllm-exporter.readiness" . | b64enc }}' } ]`),
			0o600,
		),
	)
	out, err := exec.CommandContext(t.Context(), helm, "template", "exporter", "--kube-version", "1.36.0", root("deploy", "helm", "trtllm-exporter"),
		"--set", "mode=sidecar", "--values", values, "--show-only", "templates/extra.yaml").
		Output()
	require.NoError(t, err, "%s", out)
	var object struct {
		Offered []byte `json:"offered"`
	}
	require.NoError(t, yaml.Unmarshal(out, &object), "%s", out)
	var container corev1.Container
	require.NoError(t, yaml.UnmarshalStrict(object.Offered, &container))
	require.NotNil(t, container.ReadinessProbe)
	return &container
}
