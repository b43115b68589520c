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

// TestClusterGrantsLeastRights lists all rights in the namespace: the exporter may query its own
// rights, like everybody, and read three kinds. It may not read other namespaces.
func TestClusterGrantsLeastRights(t *testing.T) {
	c := installChart(t, podValues)
	account := c.account(t)
	rules := func() []string {
		review, err := account.AuthorizationV1().
			SelfSubjectRulesReviews().
			Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: c.namespace},
			}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.False(t, review.Status.Incomplete, "the review is complete: %s", review.Status.EvaluationError)
		var all []string
		for _, r := range review.Status.ResourceRules {
			for _, resource := range r.Resources {
				verbs := strings.Join(slices.Sorted(slices.Values(r.Verbs)), ",")
				all = append(all, verbs+" "+strings.Join(r.APIGroups, ",")+"/"+resource)
			}
		}
		slices.Sort(all)
		return all
	}
	everybody := []string{
		"create authentication.k8s.io/selfsubjectreviews",
		"create authorization.k8s.io/selfsubjectaccessreviews",
		"create authorization.k8s.io/selfsubjectrulesreviews",
		"get,list,watch certificates.k8s.io/clustertrustbundles",
	}
	require.ElementsMatch(t, append(slices.Clone(everybody),
		"get,list,watch /pods", "get,list,watch /services", "get,list,watch discovery.k8s.io/endpointslices"), rules())

	for _, namespace := range []string{"default", "kube-system", metav1.NamespaceAll} {
		_, err := account.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%s: %v", namespace, err)
	}
	_, err := account.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = account.CoreV1().Secrets(c.namespace).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	c.helm(
		t,
		"upgrade",
		"exporter",
		repositoryRoot(t)+"/deploy/helm/trtllm-exporter",
		"--reuse-values",
		"--set=rbac.create=false",
	)
	within(
		t,
		20*time.Second,
		"the rights are gone with rbac.create",
		func() bool { return slices.Equal(everybody, rules()) },
	)
}

func TestClusterDenialIsReported(t *testing.T) {
	c := installChart(t, strings.Replace(podValues, "create: true", "create: false", 1)+`
    - pool_id: known
      static_configs: [ { targets: [ "127.0.0.1:1" ], labels: { replica_id: r0 } } ]
`)
	c.addPod(t, c.namespace, "llama-0", c.serve(t, 1, "2.64.0"), map[string]string{"app": "triton", "pool": "llama"})
	e := c.startInCluster(t, nil)
	within(t, patience, "the log says that it is forbidden", func() bool {
		for line := range strings.Lines(e.tail(1000)) {
			if strings.Contains(line, "pods is forbidden") {
				require.Regexp(t, `^time=\S+ level=\S+ `, line, "in the form of the other lines")
				return true
			}
		}
		return false
	})
	within(
		t,
		20*time.Second,
		"the other pool is scraped",
		func() bool { return e.found(t)["known/r0"].Health == "down" },
	)
	require.Len(t, e.page(t).named("trtllm_exporter_target_up"), 1)

	status, body, err := get(t.Context(), e.url("/-/ready"))
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, string(body), "pods is forbidden", "and so does what a person looks at first")

	// A right that is granted later is sufficient.
	c.helm(
		t,
		"upgrade",
		"exporter",
		repositoryRoot(t)+"/deploy/helm/trtllm-exporter",
		"--reuse-values",
		"--set=rbac.create=true",
	)
	within(t, time.Minute, "the pod is found", func() bool { return e.found(t)["llama/llama-0"].Health == "up" })
}
