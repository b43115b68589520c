//go:build e2e_kube

package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// release is an installed chart.
type release struct {
	server    *apiServer
	namespace string
}

// run runs helm successfully.
func (r *release) run(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := helm(t, append(args, "--namespace="+r.namespace)...)
	require.NoError(t, err, "helm %v: %s", args, out)
	return out
}

// objects returns the objects of the release according to helm.
func (r *release) objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	found := documents(t, r.run(t, "get", "manifest", "llm"))
	require.NotEmpty(t, found)
	for _, o := range found {
		if o.GetNamespace() == "" {
			o.SetNamespace(r.namespace)
		}
	}
	return found
}

// requireStored requires that every object is in the cluster, with the label of a revision
// of the values.
func (r *release) requireStored(t *testing.T, objects []*unstructured.Unstructured, label string) {
	t.Helper()
	for _, o := range objects {
		stored := r.server.get(t, o)
		require.NotNil(t, stored, "%s %s", o.GetKind(), o.GetName())
		if _, labeled := o.GetLabels()["helm.sh/chart"]; labeled {
			require.Equal(t, label, stored.GetLabels()["revision"], "%s %s", o.GetKind(), o.GetName())
		}
	}
}

func TestClusterReleaseLifecycle(t *testing.T) {
	s := cluster(t)
	for name, file := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			r := &release{server: s, namespace: "release-" + name}
			out := r.run(t, "install", "llm", ".", "--create-namespace", "--values="+file)
			require.Contains(t, string(out), "STATUS: deployed")
			first := r.objects(t)
			r.requireStored(t, first, "")

			r.run(t, "upgrade", "llm", ".", "--values="+file, "--set=commonLabels.revision=second,web.maxRequests=7")
			r.requireStored(t, r.objects(t), "second")
			r.run(t, "rollback", "llm", "1")
			r.requireStored(t, first, "")

			r.run(t, "uninstall", "llm")
			for _, o := range first {
				require.Nil(t, s.get(t, o), "%s %s", o.GetKind(), o.GetName())
			}
		})
	}
}

// A release that becomes sharded changes the kind of its workload.
func TestClusterReleaseShardedAndBack(t *testing.T) {
	s := cluster(t)
	r := &release{server: s, namespace: "becomes-sharded"}
	workload := func(kind string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apps/v1")
		o.SetKind(kind)
		o.SetNamespace(r.namespace)
		o.SetName("llm-trtllm-exporter")
		return s.get(t, o)
	}
	r.run(t, "install", "llm", ".", "--create-namespace")
	require.NotNil(t, workload("Deployment"))
	require.Nil(t, workload("StatefulSet"))
	r.run(t, "upgrade", "llm", ".", "--set=mode=sharded,shards=4")
	require.Nil(t, workload("Deployment"))
	shards, _, err := unstructured.NestedInt64(workload("StatefulSet").Object, "spec", "replicas")
	require.NoError(t, err)
	require.EqualValues(t, 4, shards)
	r.run(t, "upgrade", "llm", ".", "--set=mode=sharded,shards=5")
	r.run(t, "rollback", "llm", "1")
	require.NotNil(t, workload("Deployment"))
	require.Nil(t, workload("StatefulSet"))
	r.run(t, "uninstall", "llm")
	require.Nil(t, workload("Deployment"))
}
