package manifests_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// overlays lists the folders in deploy/kubernetes/overlays.
var overlays = []string{"central", "sharded", "sidecar"}

// kustomize builds a folder.
func kustomize(path string) ([]byte, error) {
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		return nil, err
	}
	return result.AsYaml()
}

// kustomized builds a folder of the checkout.
func kustomized(t *testing.T, path string) []byte {
	t.Helper()
	manifest, err := kustomize(filepath.Join(root, path))
	require.NoError(t, err)
	return manifest
}

// allComponents returns a kustomization with an overlay and all components, for a folder; kustomize takes
// relative paths only.
func allComponents(t *testing.T, folder, overlay string) string {
	t.Helper()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	folder, err = filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	deploy, err := filepath.Rel(folder, filepath.Join(checkout, "deploy/kubernetes"))
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"+
		"resources: [%s/overlays/%s]\ncomponents:\n", deploy, overlay)
	components, err := filepath.Glob(filepath.Join(checkout, "deploy/kubernetes/components/*"))
	require.NoError(t, err)
	for _, c := range components {
		if filepath.Base(c) != "sidecar" {
			fmt.Fprintf(&b, "  - %s/components/%s\n", deploy, filepath.Base(c))
		}
	}
	return b.String()
}

// withComponents builds an overlay with all components.
func withComponents(t *testing.T, overlay string) []byte {
	t.Helper()
	dir := t.TempDir()
	text := allComponents(t, dir, overlay)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644))
	manifest, err := kustomize(dir)
	require.NoError(t, err)
	return manifest
}

// binary returns the exporter, which the caller of the tests has built.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TRTLLM_EXPORTER_BIN")
	if path == "" {
		t.Skip("TRTLLM_EXPORTER_BIN names the exporter; make check-deploy sets it")
	}
	return path
}

// requireGoodConfig checks the configuration in a manifest with the exporter.
func requireGoodConfig(t *testing.T, o objects) {
	t.Helper()
	checked := 0
	for _, m := range all[*corev1.ConfigMap](o) {
		text, ok := m.Data["config.yml"]
		if !ok {
			continue
		}
		path := filepath.Join(t.TempDir(), "config.yml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		out, err := exec.CommandContext(t.Context(), binary(t), "check-config", path).CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, text)
		checked++
	}
	require.Positive(t, checked)
}

// requireGoodFlags checks the arguments of a pod with the exporter.
func requireGoodFlags(t *testing.T, c *corev1.Container) {
	t.Helper()
	args := []string{"serve"}
	for _, a := range c.Args {
		args = append(args, strings.ReplaceAll(a, "$(POD_NAME)", "pod-0"))
	}
	out, err := exec.CommandContext(t.Context(), binary(t), append(args, "--help")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, v := range []string{"POD_NAME"} {
		if strings.Contains(strings.Join(c.Args, " "), "$("+v+")") {
			require.Equal(t, v, c.Env[0].Name)
		}
	}
}

// requireStarts runs the exporter of a pod with its arguments and the configuration of the manifest,
// which may be valid alone and not together. It gets other ports, and no TLS, whose secrets are not
// here.
func requireStarts(t *testing.T, c *corev1.Container, o objects) {
	t.Helper()
	var args []string
	for _, a := range c.Args {
		switch name, value, _ := strings.Cut(strings.ReplaceAll(a, "$(POD_NAME)", "pod-0"), "="); name {
		case "--web.config.file", "--web.grpc-health-address":
		case "--web.listen-address":
			args = append(args, name+"=127.0.0.1:0")
		case "--config.file":
			path := filepath.Join(t.TempDir(), filepath.Base(value))
			require.NoError(t, os.WriteFile(path, []byte(configOf(t, o)), 0o600))
			args = append(args, name+"="+path)
		case "--log.level", "--log.format": // Its log shows that it has started.
		default:
			args = append(args, strings.ReplaceAll(a, "$(POD_NAME)", "pod-0"))
		}
	}
	runsUntilInterrupted(t, args)
}

// configOf returns the only configuration in a manifest.
func configOf(t *testing.T, o objects) string {
	t.Helper()
	var found []string
	for _, m := range all[*corev1.ConfigMap](o) {
		if text, ok := m.Data["config.yml"]; ok {
			found = append(found, text)
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

func TestOverlaysAreValid(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			for _, manifest := range [][]byte{
				kustomized(t, "deploy/kubernetes/overlays/"+overlay),
				withComponents(t, overlay),
			} {
				o := decoded(t, manifest)
				pods := o.pods()
				require.NotEmpty(t, pods)
				for name, pod := range pods {
					t.Log(name)
					requireHardened(t, pod)
					requireGoodFlags(t, exporter(pod))
					requireStarts(t, exporter(pod), o)
				}
				requireReachable(t, o)
				requireGoodConfig(t, o)
				require.Empty(t, all[*rbacv1.ClusterRole](o), "no rights for the whole cluster")
			}
		})
	}
}

func TestSidecarIsNative(t *testing.T) {
	o := decoded(t, kustomized(t, "deploy/kubernetes/overlays/sidecar"))
	pod := one[*appsv1.Deployment](t, o).Spec.Template.Spec
	require.Len(t, pod.InitContainers, 1)
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *pod.InitContainers[0].RestartPolicy)
	require.Nil(t, pod.InitContainers[0].ReadinessProbe, "the exporter does not affect the readiness of the server")
	require.Len(t, pod.Containers, 1)
}

func TestShardsMatchConfiguration(t *testing.T) {
	o := decoded(t, kustomized(t, "deploy/kubernetes/overlays/sharded"))
	set := one[*appsv1.StatefulSet](t, o)
	config := one[*corev1.ConfigMap](t, o).Data["config.yml"]
	require.Contains(t, config, "sharding: { total: "+strconv.Itoa(int(*set.Spec.Replicas))+" }")
	require.Contains(t, exporter(&set.Spec.Template).Args, "--sharding.index=$(POD_NAME)")
}

func TestKubernetesDiscoveryHasLeastRights(t *testing.T) {
	for name, manifest := range map[string][]byte{
		"kustomize": withComponents(t, "central"),
		"helm":      rendered(t, "--values=ci/kubernetes-values.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			o := decoded(t, manifest)
			pod := one[*appsv1.Deployment](t, o).Spec.Template.Spec
			require.True(t, *pod.AutomountServiceAccountToken, "discovery needs the token")
			role, binding := one[*rbacv1.Role](t, o), one[*rbacv1.RoleBinding](t, o)
			require.Equal(t, role.Name, binding.RoleRef.Name)
			require.Equal(t, pod.ServiceAccountName, binding.Subjects[0].Name)
			for _, rule := range role.Rules {
				require.Equal(t, []string{"get", "list", "watch"}, rule.Verbs)
				require.NotContains(t, rule.Resources, "secrets")
				require.NotContains(t, rule.Resources, "*")
			}
			open := one[*networkingv1.NetworkPolicy](t, o)
			text, err := yaml.Marshal(open.Spec.Egress)
			require.NoError(t, err)
			require.Contains(t, string(text), "6443")
		})
	}
	o := decoded(t, kustomized(t, "deploy/kubernetes/overlays/central"))
	require.Empty(t, all[*rbacv1.Role](o))
	pod := one[*appsv1.Deployment](t, o).Spec.Template.Spec
	require.False(t, *pod.AutomountServiceAccountToken, "without discovery there is no token")
}
