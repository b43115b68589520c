package collector_test

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestAReplicaIsNamedAfterItsPodUnlessItHasAName(t *testing.T) {
	t.Parallel()
	p := config.DefaultPool
	p.PoolID, p.Silent = "llama", true
	p.Discovery.StaticConfigs = []*targetgroup.Group{{Source: "found", Targets: []model.LabelSet{
		{model.AddressLabel: "10.2.0.7:8002", "__meta_kubernetes_pod_name": "triton-0"},
		{model.AddressLabel: "10.2.0.8:8002", "__meta_kubernetes_pod_name": "triton-1", "replica_id": "named"},
		{model.AddressLabel: "10.2.0.9:8002"},
		// The pods behind these are not known yet, and the last is none.
		{model.AddressLabel: "10.2.1.1:8002", "__meta_kubernetes_endpointslice_address_target_kind": "Pod", "__meta_kubernetes_endpointslice_address_target_name": "triton-2"},
		{model.AddressLabel: "10.2.1.2:8002", "__meta_kubernetes_endpoint_address_target_kind": "Pod", "__meta_kubernetes_endpoint_address_target_name": "triton-3"},
		{model.AddressLabel: "10.2.1.3:8002", "__meta_kubernetes_endpoint_address_target_kind": "Node", "__meta_kubernetes_endpoint_address_target_name": "gpu-1"},
	}}}
	l := startLine(t, p)
	require.Eventually(t, l.Ready, patience, time.Millisecond)
	require.Equal(t, []string{"llama/10.2.0.9:8002", "llama/10.2.1.3:8002", "llama/named", "llama/triton-0", "llama/triton-2", "llama/triton-3"}, l.keys())
}
