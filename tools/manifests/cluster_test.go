//go:build e2e_kube

package manifests_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// apiServer is the API server of KUBECONFIG, with an administrator's rights.
type apiServer struct {
	url    string
	client *http.Client
	mapper meta.ResettableRESTMapper
}

var prepared sync.Once

// cluster connects to the API server. The first call installs the kinds of the Prometheus
// and Grafana operators, of KEDA and of the Gateway API, and creates the namespaces that values name.
func cluster(t *testing.T) *apiServer {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	require.NotEmpty(t, path, "KUBECONFIG names the cluster; make e2e-kube sets it")
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	// Without the rate limit of the client, which would take minutes.
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	require.NoError(t, err)
	s := &apiServer{
		url:    config.Host,
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}
	prepared.Do(func() {
		for _, definition := range definitions(t) {
			s.create(t, definition)
			s.awaitEstablished(t, definition)
		}
		for _, name := range []string{"llm", "llm-staging", "monitoring"} {
			s.create(t, namespace(name, nil))
		}
	})
	return s
}

// definitions returns the custom resource definitions that deploy needs: those of KEDA and the
// Gateway API are in their modules, those of the Prometheus operator are generated from its types,
// that of the Grafana operator is a file here.
func definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	generator := os.Getenv("CONTROLLER_GEN")
	require.NotEmpty(t, generator, "CONTROLLER_GEN names controller-gen; make e2e-kube sets it")
	dir := t.TempDir()
	out, err := exec.CommandContext(
		t.Context(),
		generator,
		"crd:crdVersions=v1",
		"paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1",
		"output:crd:dir="+dir,
	).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var found []*unstructured.Unstructured
	for _, file := range []string{
		filepath.Join(dir, "monitoring.coreos.com_servicemonitors.yaml"),
		filepath.Join(dir, "monitoring.coreos.com_podmonitors.yaml"),
		filepath.Join(dir, "monitoring.coreos.com_prometheusrules.yaml"),
		filepath.Join(module(t, "github.com/kedacore/keda/v2"), "config/crd/bases/keda.sh_scaledobjects.yaml"),
		filepath.Join(
			module(t, "sigs.k8s.io/gateway-api"),
			"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
		),
		filepath.Join("testdata", "grafanadashboards.yaml"),
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found = append(found, documents(t, text)...)
	}
	return found
}

// module returns the folder of a module.
func module(t *testing.T, path string) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(dir))
}

// namespace returns a namespace that does not exist yet.
func namespace(name string, labels map[string]string) *unstructured.Unstructured {
	n := &unstructured.Unstructured{}
	n.SetAPIVersion("v1")
	n.SetKind("Namespace")
	n.SetName(name)
	n.SetLabels(labels)
	return n
}

// collection returns the path of a kind in a namespace.
func (s *apiServer) collection(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	kind := o.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	require.NoError(t, err)
	path := "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		in := o.GetNamespace()
		if in == "" {
			in = "default"
		}
		path += "/namespaces/" + in
	}
	return path + "/" + mapping.Resource.Resource
}

// ask sends a request and returns the response.
func (s *apiServer) ask(t *testing.T, method, path string, body []byte) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/yaml")
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// post sends an object to the server, which refuses unknown fields.
func (s *apiServer) post(
	t *testing.T,
	path string,
	o *unstructured.Unstructured,
	extra url.Values,
) (status int, answer string) {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	require.NoError(t, err)
	query := url.Values{"fieldValidation": {"Strict"}}
	maps.Copy(query, extra)
	return s.ask(t, http.MethodPost, path+"?"+query.Encode(), text)
}

// dryRun makes the server check an object without storing it.
var dryRun = url.Values{"dryRun": {"All"}}

// create stores an object.
func (s *apiServer) create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	status, answer := s.post(t, s.collection(t, o), o, nil)
	require.Equal(t, http.StatusCreated, status, "%s %s: %s", o.GetKind(), o.GetName(), answer)
}

// get returns a stored object, nil if there is none.
func (s *apiServer) get(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	status, answer := s.ask(t, http.MethodGet, s.collection(t, o)+"/"+o.GetName(), nil)
	if status == http.StatusNotFound {
		return nil
	}
	require.Equal(t, http.StatusOK, status, "%s", answer)
	stored := &unstructured.Unstructured{}
	require.NoError(t, stored.UnmarshalJSON([]byte(answer)))
	return stored
}

// awaitEstablished waits until objects of a new kind can be stored and discovery lists it.
func (s *apiServer) awaitEstablished(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
	require.NoError(t, err)
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s.mapper.Reset()
		_, err := s.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
		return err == nil
	}, time.Minute, 100*time.Millisecond, definition.GetName())
}
