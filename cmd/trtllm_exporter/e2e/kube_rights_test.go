//go:build e2e_kube && linux

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// may asks the API server whether the exporter's account may do something, in
// its own namespace unless another is named.
func (c *kubeCluster) may(t *testing.T, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	if what.Namespace == "" {
		what.Namespace = c.namespace
	}
	if what.Namespace == "*" {
		what.Namespace = "" // Which means all of them.
	}
	review, err := c.account(t).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.Allowed
}

func TestClusterGivesTheExporterLeastRights(t *testing.T) {
	c := installChart(t, podValues)
	for _, resource := range []authorizationv1.ResourceAttributes{
		{Resource: "pods"}, {Resource: "services"}, {Group: "discovery.k8s.io", Resource: "endpointslices"},
	} {
		for _, verb := range []string{"get", "list", "watch"} {
			resource.Verb = verb
			require.True(t, c.may(t, resource), "%s %s", verb, resource.Resource)
		}
		for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection", "*"} {
			resource.Verb = verb
			require.False(t, c.may(t, resource), "%s %s", verb, resource.Resource)
		}
		for _, namespace := range []string{"default", "kube-system", "*"} {
			resource.Verb, resource.Namespace = "list", namespace
			require.False(t, c.may(t, resource), "%s in %s", resource.Resource, namespace)
		}
	}
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "secrets"},
		{Verb: "list", Resource: "secrets"},
		{Verb: "get", Resource: "configmaps"},
		{Verb: "get", Resource: "pods", Subresource: "log"},
		{Verb: "create", Resource: "pods", Subresource: "exec"},
		{Verb: "create", Resource: "pods", Subresource: "portforward"},
		{Verb: "create", Resource: "pods", Subresource: "eviction"},
		{Verb: "get", Resource: "services", Subresource: "proxy"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token"},
		{Verb: "impersonate", Resource: "serviceaccounts"},
		{Verb: "list", Resource: "events"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale"},
		{Verb: "list", Group: "apps", Resource: "deployments"},
		{Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles"},
		{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "roles"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
		{Verb: "list", Resource: "nodes", Namespace: "*"},
		{Verb: "get", Resource: "nodes", Subresource: "proxy", Namespace: "*"},
		{Verb: "list", Resource: "namespaces", Namespace: "*"},
		{Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Namespace: "*"},
		{Verb: "*", Group: "*", Resource: "*"},
	} {
		require.False(t, c.may(t, no), "%s %s/%s %s", no.Verb, no.Group, no.Resource, no.Subresource)
	}
	_, err := c.account(t).CoreV1().Secrets(c.namespace).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.True(t, apierrors.IsForbidden(c.account(t).CoreV1().Pods(c.namespace).Delete(t.Context(), "any", metav1.DeleteOptions{})))
}

// The server is also asked for the whole list, so that nothing is forgotten
// above: everybody may ask about himself, and the exporter may read three kinds.
func TestClusterListsNoFurtherRights(t *testing.T) {
	c := installChart(t, podValues)
	rules := func() []string {
		review, err := c.account(t).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: c.namespace},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.False(t, review.Status.Incomplete)
		var all []string
		for _, r := range review.Status.ResourceRules {
			for _, resource := range r.Resources {
				all = append(all, strings.Join(slices.Sorted(slices.Values(r.Verbs)), ",")+" "+strings.Join(r.APIGroups, ",")+"/"+resource)
			}
		}
		slices.Sort(all)
		return all
	}
	everybody := []string{
		"create authentication.k8s.io/selfsubjectreviews",
		"create authorization.k8s.io/selfsubjectaccessreviews",
		"create authorization.k8s.io/selfsubjectrulesreviews",
	}
	require.Equal(t, append(slices.Clone(everybody),
		"get,list,watch /pods", "get,list,watch /services", "get,list,watch discovery.k8s.io/endpointslices"), rules())

	c.helm(t, "upgrade", "exporter", repositoryRoot(t)+"/deploy/helm/trtllm-exporter", "--reuse-values", "--set=rbac.create=false")
	within(t, 20*time.Second, "the rights are gone with rbac.create", func() bool { return slices.Equal(everybody, rules()) })
}

// A cluster that answers "forbidden" is reported, and keeps nothing else from
// being served.
func TestClusterThatForbidsIsReported(t *testing.T) {
	c := installChart(t, strings.Replace(podValues, "create: true", "create: false", 1)+`
    - pool_id: known
      static_configs: [ { targets: [ "127.0.0.1:1" ], labels: { replica_id: r0 } } ]
`)
	c.addPod(t, c.namespace, "llama-0", c.serve(t, 1, "2.64.0").address, map[string]string{"app": "triton", "pool": "llama"})
	e := c.startInCluster(t, nil)
	within(t, 30*time.Second, "the log says that it is forbidden", func() bool {
		for line := range strings.Lines(e.tail(1000)) {
			if strings.Contains(line, "pods is forbidden") {
				require.Regexp(t, `^time=\S+ level=\S+ `, line, "in the form of the other lines")
				return true
			}
		}
		return false
	})
	within(t, 20*time.Second, "the other pool is scraped", func() bool { return e.found(t)["known/r0"].Health == "down" })
	require.Len(t, e.page(t).named("trtllm_exporter_target_up"), 1)

	status, _, err := get(t.Context(), e.url("/-/ready"))
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)

	// The right that comes later is enough.
	c.helm(t, "upgrade", "exporter", repositoryRoot(t)+"/deploy/helm/trtllm-exporter", "--reuse-values", "--set=rbac.create=true")
	within(t, time.Minute, "the pod is found", func() bool { return e.found(t)["llama/llama-0"].Health == "up" })
}
