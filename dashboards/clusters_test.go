package dashboards_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

func TestClusterLabelIsConfigurable(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards.All() {
		usual, err := dashboards.Encode(&d, dashboards.ClusterLabel)
		require.NoError(t, err)
		require.Contains(t, string(usual), "cluster=~", d.Title)

		other, err := dashboards.Encode(&d, "k8s_cluster")
		require.NoError(t, err)
		require.True(t, json.Valid(other), "valid JSON: %s", other)
		require.Contains(t, string(other), "k8s_cluster=~", d.Title)
		require.NotRegexp(t, `([a-z]\{|\b(by|on) \(|\{\{)cluster\b`, string(other), d.Title)

		none, err := dashboards.Encode(&d, "")
		require.NoError(t, err)
		require.True(t, json.Valid(none), "valid JSON: %s", none)
		require.NotContains(t, string(none), "cluster=~", d.Title)
		require.NotRegexp(t, `\b(by|on) \(cluster|\{\{cluster|\$\{?cluster|"name": "cluster"`, string(none), d.Title)
	}
}
