package manifests_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	templates = chart + "/templates/"
	manifests = "deploy/kubernetes/"
	// fullCentral and its like are overlays with all that may be added to them.
	fullCentral = manifests + "full-central"
)

// planted is one typo for each file that objects are made from.
var planted = map[string]struct {
	right, wrong string
	// The values, or the folder, that the file is rendered with.
	by string
}{
	templates + "_helpers.tpl":             {"  livenessProbe:", "  livenesProbe:", "ci/sidecar-values.yaml"},
	templates + "autoscaling.yaml":         {"minReplicaCount:", "minReplicasCount:", "ci/keda-values.yaml"},
	templates + "configmap.yaml":           {"data:", "datas:", "ci/central-values.yaml"},
	templates + "dashboards.yaml":          {"labels:", "label:", "ci/operator-values.yaml"},
	templates + "deployment.yaml":          {"revisionHistoryLimit:", "revisionsHistoryLimit:", "ci/central-values.yaml"},
	templates + "monitor.yaml":             {"honorLabels:", "honourLabels:", "ci/operator-values.yaml"},
	templates + "networkpolicy.yaml":       {"policyTypes:", "policyType:", "ci/secure-values.yaml"},
	templates + "poddisruptionbudget.yaml": {"maxUnavailable: {", "maxUnavailible: {", "ci/central-values.yaml"},
	templates + "prometheusrule.yaml":      {"groups:", "group:", "ci/operator-values.yaml"},
	templates + "rbac.yaml":                {"roleRef:", "roleref:", "ci/secure-values.yaml"},
	templates + "secret-web.yaml":          {"stringData:", "stringdata:", "ci/secure-values.yaml"},
	templates + "service.yaml":             {"publishNotReadyAddresses:", "publishNotReadyAdresses:", "ci/sharded-values.yaml"},
	templates + "serviceaccount.yaml":      {"automountServiceAccountToken:", "autoMountServiceAccountToken:", "ci/central-values.yaml"},
	templates + "statefulset.yaml":         {"podManagementPolicy:", "podManagement:", "ci/sharded-values.yaml"},

	manifests + "base/networkpolicy.yaml":                            {"endPort:", "endport:", manifests + "overlays/central"},
	manifests + "base/poddisruptionbudget.yaml":                      {"maxUnavailable:", "maxUnavailible:", manifests + "overlays/central"},
	manifests + "base/service.yaml":                                  {"targetPort:", "targetport:", manifests + "overlays/central"},
	manifests + "base/serviceaccount.yaml":                           {"automountServiceAccountToken:", "automountToken:", manifests + "overlays/central"},
	manifests + "components/kubernetes-discovery/role.yaml":          {"verbs:", "verb:", fullCentral},
	manifests + "components/prometheus-operator/podmonitor.yaml":     {"podMetricsEndpoints:", "podMetricEndpoints:", fullCentral},
	manifests + "components/prometheus-operator/prometheusrule.yaml": {"annotations:", "annotation:", fullCentral},
	manifests + "components/prometheus-operator/servicemonitor.yaml": {"fallbackScrapeProtocol:", "fallbackProtocol:", fullCentral},
	manifests + "components/sidecar/deployment.yaml":                 {"restartPolicy:", "restart:", manifests + "overlays/sidecar"},
	manifests + "components/sidecar/statefulset.yaml":                {"restartPolicy:", "restart:", "tools/manifests/testdata/sidecar-statefulset"},
	manifests + "overlays/central/deployment.yaml":                   {"enableServiceLinks:", "enableServicelinks:", manifests + "overlays/central"},
	manifests + "overlays/sharded/service-shards.yaml":               {"clusterIP:", "clusterIp:", manifests + "overlays/sharded"},
	manifests + "overlays/sharded/statefulset.yaml":                  {"whenUnsatisfiable:", "whenUnsatisfied:", manifests + "overlays/sharded"},
	manifests + "overlays/sidecar/triton.yaml":                       {"volumeMounts:", "volumeMount:", manifests + "overlays/sidecar"},
	"tools/manifests/testdata/sidecar-statefulset/server.yaml":       {"serviceName:", "servicename:", "tools/manifests/testdata/sidecar-statefulset"},
}

// sources is a copy of everything that manifests are made from, with an overlay
// that has all components.
func sources(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	for _, folder := range []string{"deploy/helm", "deploy/kubernetes", "tools/manifests/testdata"} {
		require.NoError(t, os.CopyFS(filepath.Join(tree, folder), os.DirFS(filepath.Join(root, folder))))
	}
	folder := filepath.Join(tree, fullCentral)
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(allComponents(t, "central")), 0o644))
	return tree
}

// renderedBy renders what is in a copy, with values or as a folder.
func renderedBy(t *testing.T, tree, by string) ([]byte, error) {
	t.Helper()
	if !strings.HasSuffix(by, ".yaml") {
		return kustomize(filepath.Join(tree, by))
	}
	of := filepath.Join(tree, chart)
	return helm(t, "template", "llm", of, "--namespace=llm", "--kube-version=1.33.0", "--values="+filepath.Join(of, by))
}

// plant changes the first place of a file and gives a way back.
func plant(t *testing.T, file, right, wrong string) (undo func()) {
	t.Helper()
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(good), right)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(good), right, wrong, 1)), 0o644))
	return func() { require.NoError(t, os.WriteFile(file, good, 0o644)) }
}

func TestATypoInAnyFileIsFoundInWhatItRenders(t *testing.T) {
	tree := sources(t)
	good := map[string]bool{}
	for file, p := range planted {
		t.Run(strings.TrimPrefix(file, "deploy/"), func(t *testing.T) {
			if !good[p.by] {
				manifest, err := renderedBy(t, tree, p.by)
				require.NoError(t, err, "%s", manifest)
				_, err = decode(t, manifest)
				require.NoError(t, err)
				good[p.by] = true
			}
			defer plant(t, filepath.Join(tree, file), p.right, p.wrong)()
			manifest, err := renderedBy(t, tree, p.by)
			if err == nil {
				_, err = decodeAll(t, manifest)
			}
			require.Error(t, err)
			wrong, _, _ := strings.Cut(p.wrong, ":")
			require.ErrorContains(t, err, strings.TrimSpace(wrong))
		})
	}
}

// decodeAll decodes a manifest, and the sidecar that is in a ConfigMap.
func decodeAll(t *testing.T, manifest []byte) (objects, error) {
	t.Helper()
	all, err := decode(t, manifest)
	if err != nil {
		return nil, err
	}
	for _, text := range sidecars(all) {
		if _, err := sidecar(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func TestEveryFileHasItsTypo(t *testing.T) {
	var files []string
	for _, folder := range []string{templates, manifests + "base", manifests + "components", manifests + "overlays"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			// extra.yaml holds nothing of its own; the others are no objects, but texts and numbers for them.
			if err == nil && !d.IsDir() && !slices.Contains([]string{"kustomization.yaml", "config.yml", "NOTES.txt", "extra.yaml", "_dashboards.tpl", "_rules.tpl"}, name) {
				rel, err := filepath.Rel(root, path)
				files = append(files, rel)
				return err
			}
			return err
		}))
	}
	files = append(files, "tools/manifests/testdata/sidecar-statefulset/server.yaml")
	require.ElementsMatch(t, slices.Collect(maps.Keys(planted)), files)
}

func TestATypoInAKustomizationIsFound(t *testing.T) {
	tree := sources(t)
	for file, p := range map[string]struct{ right, wrong, by string }{
		manifests + "base/kustomization.yaml":                            {"includeSelectors:", "includeSelector:", manifests + "overlays/central"},
		manifests + "overlays/central/kustomization.yaml":                {"resources:", "resource:", manifests + "overlays/central"},
		manifests + "overlays/sharded/kustomization.yaml":                {"configMapGenerator:", "configMapGenerators:", manifests + "overlays/sharded"},
		manifests + "overlays/sidecar/kustomization.yaml":                {"components:", "component:", manifests + "overlays/sidecar"},
		manifests + "components/sidecar/kustomization.yaml":              {"patches:", "patchs:", manifests + "overlays/sidecar"},
		manifests + "components/dashboards/kustomization.yaml":           {"components:", "component:", fullCentral},
		manifests + "components/kubernetes-discovery/kustomization.yaml": {"target:", "targets:", fullCentral},
		manifests + "components/prometheus-operator/kustomization.yaml":  {"resources:", "resource:", fullCentral},
		chart + "/files/dashboards/kustomization.yaml":                   {"options:", "option:", fullCentral},
	} {
		undo := plant(t, filepath.Join(tree, file), p.right, p.wrong)
		_, err := renderedBy(t, tree, p.by)
		require.Error(t, err, file)
		undo()
	}
}
