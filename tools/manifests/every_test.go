package manifests_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// documents returns the objects of a manifest as written.
func documents(t *testing.T, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var all []*unstructured.Unstructured
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if onlyComments(doc) {
			continue
		}
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(doc, &object.Object))
		all = append(all, object)
	}
}

// everyManifest returns everything in deploy that can be applied: the chart with each
// values file, each overlay with and without components, and autoscaling.
func everyManifest(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, file := range valueSets(t) {
		all["helm "+name] = rendered(t, "--values="+file)
	}
	for _, overlay := range overlays {
		all["kustomize "+overlay] = kustomized(t, "deploy/kubernetes/overlays/"+overlay)
		all["kustomize "+overlay+" and components"] = withComponents(t, overlay)
	}
	all["kustomize sidecar of a StatefulSet"] = kustomized(t, "tools/manifests/testdata/sidecar-statefulset")
	for _, name := range []string{"hpa", "keda"} {
		all["autoscaling "+name] = read(t, "deploy/autoscaling/"+name+".yaml")
	}
	return all
}
