//go:build e2e_kube && linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// kubeCluster is a namespace of a real API server with the chart installed.
type kubeCluster struct {
	config    *rest.Config
	admin     *kubernetes.Clientset
	namespace string
	// dir holds token, ca.crt and namespace like in a pod.
	dir string
	// subnet is the prefix of loopback addresses for this test.
	subnet string
}

// installChart installs the chart with values into a new namespace and requests a token of
// the exporter's ServiceAccount. In the values NAMESPACE is replaced by the namespace,
// API_SERVER by the address and token of the server.
func installChart(t *testing.T, values string) *kubeCluster {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	require.NotEmpty(t, path, "KUBECONFIG names the cluster; make e2e-kube sets it")
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	admin, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	c := &kubeCluster{
		config: config, admin: admin, dir: t.TempDir(),
		namespace: fmt.Sprintf("llm-%08x", rand.Uint32()),
		subnet:    fmt.Sprintf("127.%d.%d.", 1+rand.IntN(250), rand.IntN(250)),
	}
	api := fmt.Sprintf("api_server: %s\n          tls_config: { ca_file: %s }\n          authorization: { "+
		"credentials_file: %s }",
		config.Host, filepath.Join(c.dir, "ca.crt"), filepath.Join(c.dir, "token"))
	file := filepath.Join(c.dir, "values.yaml")
	require.NoError(
		t,
		os.WriteFile(
			file,
			[]byte(strings.NewReplacer("NAMESPACE", c.namespace, "API_SERVER", api).Replace(values)),
			0o600,
		),
	)
	c.helm(
		t,
		"install",
		"exporter",
		filepath.Join(repositoryRoot(t), "deploy/helm/trtllm-exporter"),
		"--create-namespace",
		"--values="+file,
	)

	const account = "exporter-trtllm-exporter"
	token, err := admin.CoreV1().
		ServiceAccounts(c.namespace).
		CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	ca, err := os.ReadFile(config.CAFile)
	require.NoError(t, err)
	for name, text := range map[string][]byte{
		"token":     []byte(token.Status.Token),
		"ca.crt":    ca,
		"namespace": []byte(c.namespace),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
	}
	return c
}

func (c *kubeCluster) helm(t *testing.T, args ...string) {
	t.Helper()
	out, err := c.helmCommand(t, args...).CombinedOutput()
	require.NoError(t, err, "helm %v: %s", args, out)
}

// helmCommand returns a command of helm about the namespace.
func (c *kubeCluster) helmCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program := os.Getenv("HELM")
	require.NotEmpty(t, program, "HELM names helm; make e2e-kube sets it")
	cmd := exec.CommandContext(t.Context(), program, append(args, "--namespace="+c.namespace)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return cmd
}

// account returns a client with the token of the exporter's ServiceAccount.
func (c *kubeCluster) account(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(c.dir, "token"))
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: c.config.Host, BearerToken: string(token), TLSClientConfig: rest.TLSClientConfig{CAFile: c.config.CAFile},
	})
	require.NoError(t, err)
	return client
}

// serve starts a simulated Triton of a version at the nth loopback address, and returns the
// address.
func (c *kubeCluster) serve(t *testing.T, n int, version string) (address string) {
	t.Helper()
	return c.serveAny(t, n, simulate.Spec{EngineVersion: version, Ports: simulate.Ports{MetricsPort: 8002}})
}

// serveAny starts a simulated server with its API at port 8000 of the nth loopback address, and returns
// the address.
func (c *kubeCluster) serveAny(t *testing.T, n int, spec simulate.Spec) (address string) {
	t.Helper()
	spec.Host, spec.APIPort = fmt.Sprintf("%s%d", c.subnet, n), 8000
	spec.Speed, spec.Seed, spec.Workload = 1, uint64(n), simulate.Workload{Rate: 5}
	fleet, err := simulate.StartFleet(
		t.Context(),
		simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "any", Replicas: []simulate.Spec{spec}}}},
	)
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	return spec.Host
}

// addPod creates a pod with Triton's ports that runs at an address, or is pending without one.
func (c *kubeCluster) addPod(t *testing.T, namespace, name, address string, labels map[string]string) *corev1.Pod {
	t.Helper()
	return c.addPodWith(t, namespace, name, address, labels,
		corev1.ContainerPort{Name: "http", ContainerPort: 8000}, corev1.ContainerPort{Name: "metrics", ContainerPort: 8002})
}

// addPodWith creates a pod with other ports.
func (c *kubeCluster) addPodWith(
	t *testing.T, namespace, name, address string, labels map[string]string, ports ...corev1.ContainerPort,
) *corev1.Pod {
	t.Helper()
	pod, err := c.admin.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName:   "gpu-1",
			Containers: []corev1.Container{{Name: "server", Image: "server:1", Ports: ports}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	if address != "" {
		c.runPod(t, pod, address)
	}
	return pod
}

// runPod sets the status of a pod like a kubelet: it runs at an address.
func (c *kubeCluster) runPod(t *testing.T, pod *corev1.Pod, address string) {
	t.Helper()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	updated, err := c.admin.CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	*pod = *updated
}

// deletePod deletes a pod at once, because there is no kubelet.
func (c *kubeCluster) deletePod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NoError(t, c.admin.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)))
}

// startInCluster starts the exporter with the chart's configuration and waits until it
// answers, whether or not it has targets. A wrapper program gets the folder of the
// ServiceAccount and must exec the rest.
func (c *kubeCluster) startInCluster(t *testing.T, env []string, front ...string) *exporter {
	t.Helper()
	m, err := c.admin.CoreV1().ConfigMaps(c.namespace).Get(t.Context(), "exporter-trtllm-exporter", metav1.GetOptions{})
	require.NoError(t, err)
	file := configFile(t, m.Data["config.yml"])
	e := launchExporter(t, env, append(front, exporterBinary(t), "--config.file", file)...)
	within(t, patience, "the exporter answers", func() bool {
		require.False(t, e.ended(), "the exporter ended by itself")
		_, _, err := get(t.Context(), e.url("/-/healthy"))
		return err == nil
	})
	return e
}
