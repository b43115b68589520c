package manifests_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// documents are the objects of a manifest as they are written.
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

// everyManifest is all that deploy can give to a cluster: the chart with each
// set of values, each overlay with and without components, and autoscaling.
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

// byKind sorts every object of deploy by its kind.
func byKind(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	kinds := map[string][]*unstructured.Unstructured{}
	manifests := everyManifest(t)
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		for _, object := range documents(t, manifests[name]) {
			kinds[object.GetKind()] = append(kinds[object.GetKind()], object)
		}
	}
	return kinds
}

// free are the blocks whose keys are the user's, by the name of the block.
var free = map[string]bool{
	"annotations": true, "data": true, "labels": true, "limits": true, "matchLabels": true,
	"nodeSelector": true, "requests": true, "stringData": true,
}

// isFree says whether the keys of a block are not those of a type.
func isFree(kind, path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	return free[name] || kind == "Service" && path == "spec.selector" || kind == "ScaledObject" && path == "spec.triggers[].metadata"
}

// misspelt gives copies of an object that have one field misspelt each, by the
// path of the field; elements of one list count as one.
func misspelt(object *unstructured.Unstructured) map[string]*unstructured.Unstructured {
	copies := map[string]*unstructured.Unstructured{}
	var walk func(node any, path string, steps []string)
	walk = func(node any, path string, steps []string) {
		switch node := node.(type) {
		case map[string]any:
			if isFree(object.GetKind(), path) {
				return
			}
			for key, value := range node {
				inner := strings.TrimPrefix(path+"."+key, ".")
				to := append(slices.Clone(steps), key)
				if copies[inner] == nil {
					copies[inner] = misspell(object, to)
				}
				walk(value, inner, to)
			}
		case []any:
			for i, value := range node {
				walk(value, path+"[]", append(slices.Clone(steps), strconv.Itoa(i)))
			}
		}
	}
	walk(object.Object, "", nil)
	return copies
}

// misspell renames the field at the end of steps in a copy.
func misspell(object *unstructured.Unstructured, steps []string) *unstructured.Unstructured {
	wrong := object.DeepCopy()
	var node any = wrong.Object
	for _, step := range steps[:len(steps)-1] {
		switch inner := node.(type) {
		case map[string]any:
			node = inner[step]
		case []any:
			i, _ := strconv.Atoi(step)
			node = inner[i]
		}
	}
	fields := node.(map[string]any)
	key := steps[len(steps)-1]
	fields[key+"z"] = fields[key]
	delete(fields, key)
	return wrong
}

func TestEveryFieldOfEveryKindIsFoundWhenMisspelt(t *testing.T) {
	kinds := byKind(t)
	require.Subset(t, slices.Collect(maps.Keys(kinds)), []string{
		"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor", "PrometheusRule",
		"Role", "RoleBinding", "ScaledObject", "Secret", "Service", "ServiceAccount", "ServiceMonitor", "StatefulSet",
	})
	for kind, list := range kinds {
		t.Run(kind, func(t *testing.T) {
			decoder, tried := strictDecoder(t), map[string]bool{}
			for _, object := range list {
				for path, wrong := range misspelt(object) {
					if tried[path] {
						continue
					}
					tried[path] = true
					text, err := wrong.MarshalJSON()
					if path != "kind" { // Which is needed to write it down at all.
						require.NoError(t, err)
					}
					_, _, err = decoder.Decode(text, nil, nil)
					require.Error(t, err, "%s of %s, written %sz", path, kind, path)
					if path != "apiVersion" && path != "kind" {
						require.ErrorContains(t, err, fmt.Sprintf("%sz", path[strings.LastIndexByte(path, '.')+1:]))
					}
				}
			}
			require.Greater(t, len(tried), 4)
			t.Logf("%d fields", len(tried))
		})
	}
}
