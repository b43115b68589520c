package alerts_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// inhibition is an inhibition rule of alertmanager.yml.
type inhibition struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string `yaml:"equal"`
}

// matches reports whether labels meet all matchers, as Alertmanager reads them.
func matches(t *testing.T, matchers []string, labels map[string]string) bool {
	t.Helper()
	all, err := parser.NewParser(parser.Options{}).ParseMetricSelector("alert{" + strings.Join(matchers, ",") + "}")
	require.NoError(t, err)
	return !slices.ContainsFunc(
		all,
		func(m *promlabels.Matcher) bool { return m.Name != model.MetricNameLabel && !m.Matches(labels[m.Name]) },
	)
}

// sent returns the alerts that are not inhibited. Each is a name and labels, like "LLMReplicaDown
// replica_id=r0".
func sent(t *testing.T, firing []string) []string {
	t.Helper()
	text, err := os.ReadFile("alertmanager.yml")
	require.NoError(t, err)
	var file struct {
		Rules []inhibition `yaml:"inhibit_rules"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	scopes := make(map[string]string)
	for _, r := range rules(t) {
		scopes[r.Alert] = r.Labels["scope"]
	}
	labels := make([]map[string]string, len(firing))
	for i, f := range firing {
		fields := strings.Fields(f)
		require.Contains(t, scopes, fields[0])
		labels[i] = map[string]string{"alertname": fields[0], "scope": scopes[fields[0]], "pool_id": "llama"}
		for _, more := range fields[1:] {
			name, value, _ := strings.Cut(more, "=")
			labels[i][name] = value
		}
	}
	inhibited := func(target int) bool {
		return slices.ContainsFunc(file.Rules, func(r inhibition) bool {
			for source := range firing {
				// As in Alertmanager, alerts that match both sides of a rule do not inhibit each
				// other.
				if source == target || !matches(t, r.Source, labels[source]) || !matches(t, r.Target, labels[target]) ||
					matches(t, r.Target, labels[source]) && matches(t, r.Source, labels[target]) {
					continue
				}
				if !slices.ContainsFunc(
					r.Equal,
					func(l string) bool { return labels[source][l] != labels[target][l] },
				) {
					return true
				}
			}
			return false
		})
	}
	var remaining []string
	for i, f := range firing {
		if !inhibited(i) {
			remaining = append(remaining, f)
		}
	}
	return remaining
}

func TestGroupingAndInhibitionAreByCluster(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("alertmanager.yml")
	require.NoError(t, err)
	lists := regexp.MustCompile(`(?m)^ *(?:equal|group_by): \[(.*)\]$`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(lists), 5)
	for _, l := range lists {
		require.Contains(t, strings.Split(l[1], ", "), "cluster", "%s: the label of clusters that the head of the "+
			"file speaks of", l[0])
	}
}

func TestCauseInhibitsSymptoms(t *testing.T) {
	t.Parallel()
	const r0 = " replica_id=r0"
	for _, c := range []struct {
		name         string
		firing, want []string
	}{
		{
			"an unloaded LLM is one notification",
			[]string{
				"LLMReplicaBroken state=unserved" + r0,
				"LLMModelUnavailable model=ensemble" + r0, "LLMModelUnavailable model=tensorrt_llm" + r0,
				"LLMGPUMissing" + r0, "LLMCanaryFailing" + r0, "LLMExpectationMismatch" + r0,
			},
			[]string{"LLMReplicaBroken state=unserved" + r0},
		},
		{
			"an unloaded LLM inhibits neither another replica nor its namesake in another cluster",
			[]string{
				"LLMReplicaBroken" + r0, "LLMModelUnavailable replica_id=r1", "LLMModelUnavailable cluster=b" + r0,
			},
			[]string{
				"LLMReplicaBroken" + r0, "LLMModelUnavailable replica_id=r1", "LLMModelUnavailable cluster=b" + r0,
			},
		},
		{
			"an unloaded part of a serving replica",
			[]string{"LLMModelUnavailable model=bls" + r0, "LLMGPUMissing" + r0, "LLMCanaryFailing" + r0},
			[]string{"LLMModelUnavailable model=bls" + r0},
		},
		{
			"a model without replicas",
			[]string{
				"LLMModelDown model_id=b", "LLMModelUnavailable model_id=b replica_id=r0",
				"LLMModelUnavailable model_id=b replica_id=r1",
			},
			[]string{"LLMModelDown model_id=b"},
		},
		{
			"two of three replicas are down",
			[]string{"LLMPoolDegraded", "LLMReplicasMissing", "LLMReplicaDown" + r0, "LLMReplicaDown replica_id=r1"},
			[]string{"LLMPoolDegraded"},
		},
		{
			"a down pool",
			[]string{
				"LLMPoolDown", "LLMPoolGone", "LLMDiscovery", "LLMReplicaDown" + r0,
				"LLMReplicaBroken replica_id=r1", "LLMSLOBurnFast slo=availability",
			},
			[]string{"LLMPoolDown"},
		},
		{
			"a pool of which all replicas are suspected, and are full",
			[]string{
				"LLMPoolSuspected", "LLMReplicaSuspected" + r0, "LLMReplicaSuspected replica_id=r1",
				"LLMPoolSaturated",
			},
			[]string{"LLMPoolSuspected", "LLMPoolSaturated"},
		},
		{
			"a suspected pool that is proven to be down",
			[]string{"LLMPoolDown", "LLMPoolSuspected", "LLMReplicaSuspected" + r0},
			[]string{"LLMPoolDown"},
		},
		{
			"one that is suspected in a pool that serves",
			[]string{"LLMReplicaSuspected" + r0},
			[]string{"LLMReplicaSuspected" + r0},
		},
		{
			"a tier that drained, while its pool misses an objective",
			[]string{"LLMPoolGone tier=decode", "LLMReplicasMissing", "LLMSLOBurnFast slo=availability"},
			[]string{"LLMPoolGone tier=decode", "LLMSLOBurnFast slo=availability"},
		},
		{
			"a gone pool",
			[]string{"LLMPoolGone", "LLMDiscovery", "LLMSLOBlind slo=availability"},
			[]string{"LLMPoolGone"},
		},
		{
			"a hung replica in a pool that burns its budget, perhaps for another reason",
			[]string{
				"LLMReplicaBroken state=stalled" + r0, "LLMReplicaSuspected" + r0, "LLMReplicaRestarts" + r0,
				"LLMSLOBurnFast slo=ttft", "LLMSLOBurnSlow slo=ttft",
			},
			[]string{"LLMReplicaBroken state=stalled" + r0, "LLMSLOBurnFast slo=ttft"},
		},
		{
			"most requests fail, and those that do not are late",
			[]string{"LLMPoolErrors model_id=a severity=critical", "LLMPoolErrors model_id=a severity=warning", "LLMSLOBurnSlow model_id=a slo=ttft"},
			[]string{"LLMPoolErrors model_id=a severity=critical"},
		},
		{
			"most requests are rejected, and most of the others fail",
			[]string{"LLMPoolErrors model_id=a severity=critical", "LLMPoolRefuses model_id=a", "LLMPoolRefuses model_id=b"},
			[]string{"LLMPoolErrors model_id=a severity=critical", "LLMPoolRefuses model_id=b"},
		},
		{
			"overload is one page and one ticket",
			[]string{"LLMSLOBurnFast slo=ttft", "LLMSLOBurnSlow slo=ttft", "LLMPoolSaturated", "LLMCanaryFailing" + r0},
			[]string{"LLMSLOBurnFast slo=ttft", "LLMPoolSaturated"},
		},
		{
			"the only exporter is down",
			[]string{
				"LLMExporterDown instance=a", "LLMExporterUnhealthy instance=a", "LLMExporterUnhealthy instance=b",
			},
			[]string{"LLMExporterDown instance=a", "LLMExporterUnhealthy instance=b"},
		},
		{
			"a shard is down",
			[]string{"LLMShardMissing job=j", "LLMExporterUnhealthy job=j instance=b"},
			[]string{"LLMShardMissing job=j"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, sent(t, c.firing))
		})
	}
}
