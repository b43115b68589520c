package collector

import (
	"log/slog"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// at returns the labels of a target at the address that targets of these tests share.
func at(replica string, lset model.LabelSet) model.LabelSet {
	return model.LabelSet{model.AddressLabel: "10.2.0.7:8002", "replica_id": model.LabelValue(replica)}.Merge(lset)
}

// TestPageIsOneTarget lists two targets at one address, in both orders.
func TestPageIsOneTarget(t *testing.T) {
	t.Parallel()
	const (
		ready       = "__meta_kubernetes_pod_ready"
		phase       = "__meta_kubernetes_pod_phase"
		endpoint    = "__meta_kubernetes_endpoint_ready"
		terminating = "__meta_kubernetes_endpointslice_endpoint_conditions_terminating"
		conditions  = "__meta_kubernetes_endpointslice_endpoint_conditions_ready"
	)
	for _, c := range []struct {
		name string
		a, b model.LabelSet
		kept []string
	}{
		{"two names", nil, nil, []string{"a"}},
		{"two names, with labels of their own", nil, model.LabelSet{"zone": "x"}, []string{"a"}},
		{
			"a pod that is being deleted, and its successor",
			model.LabelSet{ready: "false", phase: "Running"},
			model.LabelSet{ready: "true", phase: "Running"},
			[]string{"b"},
		},
		{
			"a pod that runs, and one that waits for its port",
			model.LabelSet{ready: "false", phase: "Pending"},
			model.LabelSet{ready: "false", phase: "Running"},
			[]string{"b"},
		},
		{
			"a pod of a lost node, and its successor",
			model.LabelSet{phase: "Unknown"},
			model.LabelSet{phase: "Running"},
			[]string{"b"},
		},
		{
			"a pod that is not ready, and what is no pod",
			model.LabelSet{ready: "false", phase: "Running"},
			nil,
			[]string{"b"},
		},
		{"what is no pod, and a pod that is ready", nil, model.LabelSet{ready: "true"}, []string{"b"}},
		{
			"two pods that are ready",
			model.LabelSet{ready: "true"},
			model.LabelSet{ready: "true"},
			[]string{"a"},
		},
		{
			"an endpoint that drains, and its successor",
			model.LabelSet{terminating: "true", conditions: "true"},
			model.LabelSet{terminating: "false"},
			[]string{"b"},
		},
		{
			"a pod that its Service publishes before it is ready",
			model.LabelSet{endpoint: "true", ready: "false"},
			model.LabelSet{endpoint: "true", ready: "true"},
			[]string{"b"},
		},
		{"two paths", model.LabelSet{model.MetricsPathLabel: "/a"}, nil, []string{"a", "b"}},
		{"two queries", model.LabelSet{model.ParamLabelPrefix + "key": "a"}, nil, []string{"a", "b"}},
		{"two schemes", model.LabelSet{model.SchemeLabel: "https"}, nil, []string{"a", "b"}},
		{"two ports", model.LabelSet{model.AddressLabel: "10.2.0.7:8003"}, nil, []string{"a", "b"}},
		{"two pools", model.LabelSet{"pool_id": "other"}, nil, []string{"a", "b"}},
		{"one page, two APIs", model.LabelSet{APIAddressLabel: "10.2.0.7:8000"}, nil, []string{"a"}},
		{"a server and a rank without a port", nil, model.LabelSet{SilentLabel: "true"}, []string{"a", "b"}},
		{
			"two ranks without a port",
			model.LabelSet{SilentLabel: "true"},
			model.LabelSet{SilentLabel: "true"},
			[]string{"a", "b"},
		},
	} {
		a, b := at("a", c.a), at("b", c.b)
		for _, sets := range [][]model.LabelSet{{a, b}, {b, a}} {
			all, s := targetsFound(sets...)
			var names []string
			for _, one := range all {
				names = append(names, one.ReplicaID)
			}
			require.ElementsMatch(t, c.kept, names, c.name)
			require.Equal(t, 2-len(c.kept), s.Dropped, c.name)
			require.Zero(t, s.LeftOut, c.name)
			if len(c.kept) == 1 {
				require.Contains(t, s.Drops[0].Rule, "has the same page as "+c.kept[0], c.name)
				require.Equal(t, "10.2.0.7:8002", s.Drops[0].Address, c.name)
			}
		}
	}
}

// TestShardsAgreeWhoHasPage has names that belong to different shards.
func TestShardsAgreeWhoHasPage(t *testing.T) {
	t.Parallel()
	p := config.DefaultPool
	p.PoolID = "fleet"
	for _, names := range [][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}} {
		groups := []*targetgroup.Group{{Targets: []model.LabelSet{at(names[1], nil), at(names[0], nil)}}}
		kept := 0
		for i := range 3 {
			all, _ := targetsOf(&p, config.Sharding{Total: 3, Index: &i}, groups, slog.New(slog.DiscardHandler))
			kept += len(all)
		}
		require.Equal(t, 1, kept, names)
	}
}
