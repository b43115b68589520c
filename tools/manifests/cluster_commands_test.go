//go:build e2e_kube

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClusterDocumentedCommands runs every line of helm and kubectl in the documents in
// order, in a folder like the checkout. The cluster has no nodes, so port-forward finds a
// pod that never runs. All objects are deleted again, because other tests use the cluster
// too.
func TestClusterDocumentedCommands(t *testing.T) {
	cluster(t)
	dir := t.TempDir()
	for name, path := range map[string]string{"helm": os.Getenv("HELM"), "kubectl": os.Getenv("KUBECTL")} {
		require.NotEmpty(t, path, "make e2e-kube names %s", name)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	deploy, err := filepath.Abs(filepath.Join(root, "deploy"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(deploy, filepath.Join(dir, "deploy")))
	for _, name := range []string{"values.yaml", "my-values.yaml"} {
		text, err := os.ReadFile(installValues(t))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	shell := func(line string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	seen := map[string]bool{}
	installed := false
	for _, line := range append(documented(t, "helm"), documented(t, "kubectl")...) {
		if seen[line] {
			continue
		}
		seen[line] = true
		if installed && strings.HasPrefix(line, "helm install ") {
			out, err := shell("helm uninstall exporter --namespace llm")
			require.NoError(t, err, out)
		}
		installed = installed || strings.HasPrefix(line, "helm install ")
		if strings.Contains(line, "port-forward") {
			out, err := shell(line + " --pod-running-timeout=2s")
			require.Error(t, err)
			require.Contains(t, out, "timed out waiting for the condition", "the service exists, but no pod runs")
			continue
		}
		out, err := shell(line)
		require.NoError(t, err, "%s\n%s", line, out)
		t.Logf("$ %s\n%s", line, out)
		if strings.HasPrefix(line, "kubectl apply ") {
			out, err := shell(strings.Replace(line, "apply", "delete --wait=false", 1))
			require.NoError(t, err, out)
		}
	}
	out, err := shell("helm uninstall exporter --namespace llm")
	require.NoError(t, err, out)
}
