//go:build e2e_kube && linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podValues selects pods by port and takes the pool from a label.
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

func (e *exporter) found(t *testing.T) map[string]replicaReport {
	t.Helper()
	all, reports := map[string]replicaReport{}, e.reports(t)
	for _, r := range reports {
		all[r.Pool+"/"+r.Replica] = r
	}
	require.Len(t, all, len(reports))
	return all
}

func (e *exporter) awaitTargets(t *testing.T, names ...string) map[string]replicaReport {
	t.Helper()
	var found map[string]replicaReport
	within(t, patience, fmt.Sprintf("the targets are %v and up", names), func() bool {
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

// undisturbed holds targets that changes of others must not affect, with their scrapes.
type undisturbed map[string]uint64

// until waits until a condition holds, and requires meanwhile that each of these targets is up,
// scraped by the same loop, and has rates, which a new loop would have to collect again.
func (u undisturbed) until(t *testing.T, e *exporter, what string, check func() bool) {
	t.Helper()
	within(t, patience, what, func() bool {
		found, p := e.found(t), e.page(t)
		for name, scrapes := range u {
			f, listed := found[name]
			require.True(t, listed, name)
			require.Equal(t, "up", f.Health, name)
			require.GreaterOrEqual(t, f.Scrapes, scrapes, "%s was restarted", name)
			u[name] = f.Scrapes
			require.NotEmpty(
				t,
				p.named("llm_server_generation_tokens_per_second", "pool_id", f.Pool, "replica_id", f.Replica),
				name,
			)
		}
		return check()
	})
}

func TestClusterPodsAreFollowed(t *testing.T) {
	c := installChart(t, podValues)
	labels := func(pool string) map[string]string { return map[string]string{"app": "triton", "pool": pool} }
	servers := map[string]string{
		"llama-0": c.serve(t, 1, "2.64.0"),
		"llama-1": c.serve(t, 2, "2.63.0"),
		"qwen-0":  c.serve(t, 3, "2.62.0"),
	}
	leaving := c.addPod(t, c.namespace, "llama-0", servers["llama-0"], labels("llama"))
	c.addPod(t, c.namespace, "llama-1", servers["llama-1"], labels("llama"))
	moving := c.addPod(t, c.namespace, "qwen-0", servers["qwen-0"], labels("qwen"))
	// Neither may be found: one is pending, the other is not a server.
	starting := c.addPod(t, c.namespace, "llama-2", "", labels("llama"))
	c.addPod(t, c.namespace, "web-0", servers["qwen-0"], map[string]string{"app": "web"})

	e := c.startInCluster(t, nil)
	found := e.awaitTargets(t, "llama/llama-0", "llama/llama-1", "qwen/qwen-0")
	for name, pool := range map[string]string{"llama-0": "llama", "llama-1": "llama", "qwen-0": "qwen"} {
		require.Contains(t, found[pool+"/"+name].URL, "http://"+servers[name]+":8002")
	}
	e.requireIdentity(t, map[string]string{
		"llama/llama-0": "2.64.0",
		"llama/llama-1": "2.63.0",
		"qwen/qwen-0":   "2.62.0",
	})

	others := undisturbed{"llama/llama-0": 0, "llama/llama-1": 0, "qwen/qwen-0": 0}
	within(t, patience, "all have rates", func() bool {
		return len(e.page(t).named("llm_server_generation_tokens_per_second")) >= len(others)
	})

	added := c.serve(t, 4, "2.61.0")
	c.runPod(t, starting, added)
	others.until(
		t,
		e,
		"the pod that got its address is a target",
		func() bool { return e.found(t)["llama/llama-2"].Health == "up" },
	)

	delete(others, "llama/llama-0")
	c.deletePod(t, leaving)
	others.until(t, e, "the deleted pod is gone", func() bool {
		_, there := e.found(t)["llama/llama-0"]
		return !there
	})
	require.Empty(t, e.page(t).named("nv_inference_request_success", "replica_id", "llama-0"), "nothing is left of it")

	moved := c.serve(t, 5, "2.60.0")
	c.runPod(t, moving, moved)
	delete(others, "qwen/qwen-0")
	others.until(t, e, "the pod is scraped at its new address", func() bool {
		f := e.found(t)["qwen/qwen-0"]
		return f.Health == "up" && strings.HasPrefix(f.URL, "http://"+moved+":8002")
	})
	e.awaitTargets(t, "llama/llama-1", "llama/llama-2", "qwen/qwen-0")
	e.requireIdentity(t, map[string]string{
		"llama/llama-1": "2.63.0",
		"llama/llama-2": "2.61.0",
		"qwen/qwen-0":   "2.60.0",
	})
}

// requireIdentity requires that the series of every replica have the version of its server.
func (e *exporter) requireIdentity(t *testing.T, versions map[string]string) {
	t.Helper()
	within(t, patience, "every replica has the version of its own server", func() bool {
		p, right := e.page(t), true
		for name, f := range e.found(t) {
			mine := p.named("nv_inference_request_success", "pool_id", f.Pool, "replica_id", f.Replica)
			right = right && len(mine) > 0 &&
				!slices.ContainsFunc(
					mine,
					func(s sample) bool { return s.labels.Get("engine_version") != versions[name] },
				)
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
	servers := map[string]string{"triton-0": c.serve(t, 1, "2.64.0"), "triton-1": c.serve(t, 2, "2.63.0")}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "triton-a",
			Labels: map[string]string{discoveryv1.LabelServiceName: "triton"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{
			Name:     new("metrics"),
			Port:     new(int32(8002)),
			Protocol: new(corev1.ProtocolTCP),
		}},
	}
	endpoint := func(name string) discoveryv1.Endpoint {
		c.addPod(t, c.namespace, name, servers[name], map[string]string{"app": "triton"})
		return discoveryv1.Endpoint{
			Addresses:  []string{"10" + servers[name][len("127"):]},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: c.namespace, Name: name},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}
	}
	slice.Endpoints = []discoveryv1.Endpoint{endpoint("triton-0")}
	all := c.admin.DiscoveryV1().EndpointSlices(c.namespace)
	slice, err := all.Create(t.Context(), slice, metav1.CreateOptions{})
	require.NoError(t, err)

	e := c.startInCluster(t, nil)
	e.awaitTargets(t, "llama/triton-0")
	slice.Endpoints = append(slice.Endpoints, endpoint("triton-1"))
	_, err = all.Update(t.Context(), slice, metav1.UpdateOptions{})
	require.NoError(t, err)
	e.awaitTargets(t, "llama/triton-0", "llama/triton-1")
	e.requireIdentity(t, map[string]string{"llama/triton-0": "2.64.0", "llama/triton-1": "2.63.0"})
	require.NoError(t, all.Delete(t.Context(), slice.Name, metav1.DeleteOptions{}))
	e.awaitTargets(t)
}
