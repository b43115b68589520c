//go:build e2e_kube && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podValues finds pods by their port and takes the pool from a label.
const podValues = `
rbac: { create: true }
config:
  global: { scrape_interval: 500ms, scrape_timeout: 500ms, window: 5s }
  pools:
    - pool_id: unlabelled
      kubernetes_sd_configs:
        - role: pod
          namespaces: { names: [NAMESPACE] }
          selectors: [ { role: pod, label: app=triton } ]
          API_SERVER
      relabel_configs:
        - { source_labels: [__meta_kubernetes_pod_container_port_name], regex: metrics, action: keep }
        - { source_labels: [__meta_kubernetes_pod_label_pool], regex: (.+), target_label: pool_id }
`

// found returns the targets that the exporter has, by pool and replica.
func (e *exporter) found(t *testing.T) map[string]foundTarget {
	t.Helper()
	var answer struct {
		Targets []foundTarget `json:"targets"`
	}
	require.NoError(t, json.Unmarshal(e.body(t, "/targets?format=json"), &answer))
	all := map[string]foundTarget{}
	for _, f := range answer.Targets {
		all[f.PoolID+"/"+f.ReplicaID] = f
	}
	require.Len(t, all, len(answer.Targets))
	return all
}

// foundTarget is what the exporter says about a target.
type foundTarget struct {
	PoolID        string `json:"pool_id"`
	ReplicaID     string `json:"replica_id"`
	Health        string `json:"health"`
	MetricsURL    string `json:"metrics_url"`
	EngineVersion string `json:"engine_version"`
	Scrapes       uint64 `json:"scrapes"`
}

// awaitTargets waits until exactly these targets are there and up.
func (e *exporter) awaitTargets(t *testing.T, names ...string) map[string]foundTarget {
	t.Helper()
	var found map[string]foundTarget
	within(t, 30*time.Second, fmt.Sprintf("the targets are %v and up", names), func() bool {
		found = e.found(t)
		for _, name := range names {
			if found[name].Health != "up" {
				return false
			}
		}
		return len(found) == len(names)
	})
	return found
}

// undisturbed are targets that must live through changes of others.
type undisturbed struct {
	exporter *exporter
	names    []string
	scrapes  map[string]uint64
}

// look requires each target still there, up, scraped on by the same loop, and with
// the rates that a new loop would have to gather again.
func (u *undisturbed) look(t *testing.T) {
	t.Helper()
	found, p := u.exporter.found(t), u.exporter.page(t)
	for _, name := range u.names {
		f, known := found[name]
		require.True(t, known, name)
		require.Equal(t, "up", f.Health, name)
		require.GreaterOrEqual(t, f.Scrapes, u.scrapes[name], "%s was restarted", name)
		u.scrapes[name] = f.Scrapes
		require.NotEmpty(t, p.named("llm_server_generation_tokens_per_second", "pool_id", f.PoolID, "replica_id", f.ReplicaID), name)
	}
}

// until looks at the targets again and again until something is true.
func (u *undisturbed) until(t *testing.T, what string, check func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, func() bool {
		u.look(t)
		return check()
	})
}

func TestClusterPodsAreFollowed(t *testing.T) {
	c := installChart(t, podValues)
	labels := func(pool string) map[string]string { return map[string]string{"app": "triton", "pool": pool} }
	servers := map[string]*server{"llama-0": c.serve(t, 1, "2.64.0"), "llama-1": c.serve(t, 2, "2.63.0"), "qwen-0": c.serve(t, 3, "2.62.0")}
	leaving := c.addPod(t, c.namespace, "llama-0", servers["llama-0"].address, labels("llama"))
	c.addPod(t, c.namespace, "llama-1", servers["llama-1"].address, labels("llama"))
	moving := c.addPod(t, c.namespace, "qwen-0", servers["qwen-0"].address, labels("qwen"))
	// Neither has to be found: one runs nowhere yet, one is something else.
	starting := c.addPod(t, c.namespace, "llama-2", "", labels("llama"))
	c.addPod(t, c.namespace, "web-0", servers["qwen-0"].address, map[string]string{"app": "web"})

	e := c.startInCluster(t, nil)
	found := e.awaitTargets(t, "llama/llama-0", "llama/llama-1", "qwen/qwen-0")
	for name, pool := range map[string]string{"llama-0": "llama", "llama-1": "llama", "qwen-0": "qwen"} {
		require.Contains(t, found[pool+"/"+name].MetricsURL, "http://"+servers[name].address+":8002")
	}
	e.requireIdentity(t, map[string]string{"llama/llama-0": "2.64.0", "llama/llama-1": "2.63.0", "qwen/qwen-0": "2.62.0"})

	all := &undisturbed{exporter: e, names: []string{"llama/llama-0", "llama/llama-1", "qwen/qwen-0"}, scrapes: map[string]uint64{}}
	within(t, 30*time.Second, "all have rates", func() bool {
		return len(e.page(t).named("llm_server_generation_tokens_per_second")) >= len(all.names)
	})

	added := c.serve(t, 4, "2.61.0")
	c.runPod(t, starting, added.address)
	all.until(t, "the pod that got its address is a target", func() bool { return e.found(t)["llama/llama-2"].Health == "up" })

	rest := &undisturbed{exporter: e, names: []string{"llama/llama-1", "qwen/qwen-0"}, scrapes: all.scrapes}
	c.deletePod(t, leaving)
	rest.until(t, "the deleted pod is gone", func() bool {
		_, there := e.found(t)["llama/llama-0"]
		return !there
	})
	require.Empty(t, e.page(t).named("nv_inference_request_success", "replica_id", "llama-0"), "nothing is left of it")

	moved := c.serve(t, 5, "2.60.0")
	c.runPod(t, moving, moved.address)
	one := &undisturbed{exporter: e, names: []string{"llama/llama-1"}, scrapes: all.scrapes}
	one.until(t, "the pod is scraped at its new address", func() bool {
		f := e.found(t)["qwen/qwen-0"]
		return f.Health == "up" && strings.HasPrefix(f.MetricsURL, "http://"+moved.address+":8002")
	})
	e.awaitTargets(t, "llama/llama-1", "llama/llama-2", "qwen/qwen-0")
	e.requireIdentity(t, map[string]string{"llama/llama-1": "2.63.0", "llama/llama-2": "2.61.0", "qwen/qwen-0": "2.60.0"})
}

// requireIdentity requires the series of each replica, known by the version of the
// server behind it, under the names of its pod and no other.
func (e *exporter) requireIdentity(t *testing.T, versions map[string]string) {
	t.Helper()
	within(t, 20*time.Second, "every replica has the version of its own server", func() bool {
		p, right := e.page(t), true
		for name, f := range e.found(t) {
			mine := []string{"pool_id", f.PoolID, "replica_id", f.ReplicaID}
			right = right && len(p.named("nv_inference_request_success", append(mine, "engine_version", versions[name])...)) > 0 &&
				len(p.named("nv_inference_request_success", mine...)) == len(p.named("nv_inference_request_success", append(mine, "engine_version", versions[name])...))
		}
		return right
	})
}

func TestClusterEndpointSlicesAreFollowed(t *testing.T) {
	c := installChart(t, `
rbac: { create: true }
config:
  global: { scrape_interval: 500ms, scrape_timeout: 500ms }
  pools:
    - pool_id: llama
      kubernetes_sd_configs:
        - role: endpointslice
          namespaces: { names: [NAMESPACE] }
          API_SERVER
      relabel_configs:
        - { source_labels: [__meta_kubernetes_endpointslice_port_name], regex: metrics, action: keep }
        # The API server lets no slice hold an address of loopback.
        - { source_labels: [__address__], regex: '10\.(.+)', target_label: __address__, replacement: '127.$1' }
`)
	servers := map[string]*server{"triton-0": c.serve(t, 1, "2.64.0"), "triton-1": c.serve(t, 2, "2.63.0")}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "triton-a", Labels: map[string]string{discoveryv1.LabelServiceName: "triton"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("metrics"), Port: new(int32(8002)), Protocol: new(corev1.ProtocolTCP)}},
	}
	endpoint := func(name string) discoveryv1.Endpoint {
		c.addPod(t, c.namespace, name, servers[name].address, map[string]string{"app": "triton"})
		return discoveryv1.Endpoint{
			Addresses:  []string{"10" + servers[name].address[len("127"):]},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: c.namespace, Name: name},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}
	}
	slice.Endpoints = []discoveryv1.Endpoint{endpoint("triton-0")}
	slices := c.admin.DiscoveryV1().EndpointSlices(c.namespace)
	slice, err := slices.Create(t.Context(), slice, metav1.CreateOptions{})
	require.NoError(t, err)

	e := c.startInCluster(t, nil)
	e.awaitTargets(t, "llama/triton-0")
	slice.Endpoints = append(slice.Endpoints, endpoint("triton-1"))
	_, err = slices.Update(t.Context(), slice, metav1.UpdateOptions{})
	require.NoError(t, err)
	e.awaitTargets(t, "llama/triton-0", "llama/triton-1")
	e.requireIdentity(t, map[string]string{"llama/triton-0": "2.64.0", "llama/triton-1": "2.63.0"})
	require.NoError(t, slices.Delete(t.Context(), slice.Name, metav1.DeleteOptions{}))
	e.awaitTargets(t)
}

// In a pod nothing is reported about the API server: address, token, certificate and
// namespace are where a kubelet puts them.
func TestClusterIsFoundFromInsideOfAPod(t *testing.T) {
	inside := []string{"unshare", "-m"}
	if exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		inside = []string{"unshare", "-rm"}
		if exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run() != nil {
			t.Skip("this user may make no mount namespace, in which a pod's files could be shown")
		}
	}
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
	c.addPod(t, c.namespace, "triton-0", s.address, nil)
	c.addPod(t, "default", "triton-"+c.namespace, s.address, nil)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(c.config.Host, "https://"))
	require.NoError(t, err)
	e := c.startInCluster(t, []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port},
		append(inside, "sh", "-euc", asInAPod, "sh", c.dir)...)
	e.awaitTargets(t, "llama/triton-0")
	e.requireIdentity(t, map[string]string{"llama/triton-0": "2.64.0"})
}

// asInAPod shows the files of a ServiceAccount where a pod has them.
const asInAPod = `
files=/var/run/secrets/kubernetes.io/serviceaccount
mount -t tmpfs none /run
mkdir -p $files
cp "$1"/token "$1"/ca.crt "$1"/namespace $files
shift
exec "$@"`
