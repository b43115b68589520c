//go:build e2e_kube && linux

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// asInAPod mounts the files of a ServiceAccount at their path in a pod.
const asInAPod = `
files=/var/run/secrets/kubernetes.io/serviceaccount
mount -t tmpfs none /run
mkdir -p $files
cp "$1"/token "$1"/ca.crt "$1"/namespace $files
shift
exec "$@"`

// startAsPod starts the exporter with the files and variables that a kubelet gives to a pod.
func (c *kubeCluster) startAsPod(t *testing.T) *exporter {
	t.Helper()
	inside := []string{"unshare", "-m"}
	if exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		inside = []string{"unshare", "-rm"}
		if exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run() != nil {
			t.Skip("this user may make no mount namespace, in which a pod's files could be shown")
		}
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(c.config.Host, "https://"))
	require.NoError(t, err)
	return c.startInCluster(t, []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port},
		append(inside, "sh", "-euc", asInAPod, "sh", c.dir)...)
}

// TestClusterIsFoundFromPod configures no API server: the files of a kubelet do.
func TestClusterIsFoundFromPod(t *testing.T) {
	c := installChart(t, `
rbac: { create: true }
config:
  global: { scrape_interval: 500ms, scrape_timeout: 500ms }
  pools:
    - pool_id: llama
      kubernetes_sd_configs: [ { role: pod, namespaces: { own_namespace: true } } ]
      relabel_configs: [ { source_labels: [__meta_kubernetes_pod_container_port_name], regex: metrics, action: keep } ]
`)
	s := c.serve(t, 1, "2.64.0")
	c.addPod(t, c.namespace, "triton-0", s, nil)
	c.addPod(t, "default", "triton-"+c.namespace, s, nil)
	e := c.startAsPod(t)
	e.awaitTargets(t, "llama/triton-0")
	e.requireIdentity(t, map[string]string{"llama/triton-0": "2.64.0"})
}

// TestClusterRecipeFindsPodsOfEachKind installs the values that README names, as they are.
func TestClusterRecipeFindsPodsOfEachKind(t *testing.T) {
	values, err := os.ReadFile(filepath.Join(repositoryRoot(t), "deploy/helm/trtllm-exporter/ci/pods-values.yaml"))
	require.NoError(t, err)
	c := installChart(t, string(values))
	api := corev1.ContainerPort{Name: "http", ContainerPort: 8000}
	c.addPod(t, c.namespace, "triton-0", c.serve(t, 1, "2.64.0"), map[string]string{"app": "triton"})
	vllm := c.serveAny(t, 2, simulate.Spec{Kind: simulate.KindVLLM})
	c.addPodWith(t, c.namespace, "vllm-0", vllm, map[string]string{"app": "vllm"}, api)

	found := c.startAsPod(t).awaitTargets(t, "llama-70b/triton-0", "qwen-32b/vllm-0")
	require.Contains(t, found["llama-70b/triton-0"].URL, ":8002")
	require.Contains(t, found["qwen-32b/vllm-0"].URL, ":8000")
}

// TestClusterHelmTestAsksExporter plays the kubelet for `helm test`: it runs the pod's command, where the
// name of the Service leads to the exporter, and reports how that ended.
func TestClusterHelmTestAsksExporter(t *testing.T) {
	c := installChart(t, podValues)
	e := c.startInCluster(t, nil)
	const service = "http://exporter-trtllm-exporter:9802"
	for _, outcome := range []struct {
		name, at string
		phase    corev1.PodPhase
	}{
		{"the exporter answers", e.url(""), corev1.PodSucceeded},
		{"nobody answers", "http://127.0.0.1:1", corev1.PodFailed},
	} {
		t.Run(outcome.name, func(t *testing.T) {
			tested := make(chan error, 1)
			cmd := c.helmCommand(t, "test", "exporter", "--timeout=60s")
			go func() { tested <- cmd.Run() }()
			pods := c.admin.CoreV1().Pods(c.namespace)
			var pod *corev1.Pod
			within(t, patience, "helm creates a pod", func() bool {
				var err error
				pod, err = pods.Get(t.Context(), "exporter-trtllm-exporter-test-answers", metav1.GetOptions{})
				return err == nil
			})
			args := pod.Spec.Containers[0].Args
			require.Contains(t, args, service)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], service, strings.TrimSuffix(outcome.at, "/"))
			}
			pod.Status.Phase = corev1.PodSucceeded
			if exec.CommandContext(t.Context(), exporterBinary(t), args...).Run() != nil {
				pod.Status.Phase = corev1.PodFailed
			}
			require.Equal(t, outcome.phase, pod.Status.Phase)
			_, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.Equal(t, outcome.phase == corev1.PodSucceeded, <-tested == nil)
		})
	}
}
