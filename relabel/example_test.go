package relabel_test

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// A target is relabeled as in Prometheus. DroppedBy describes the rule that drops one.
func ExampleRules_Target() {
	var rules relabel.Rules
	err := yaml.Unmarshal([]byte(`
- {source_labels: [__meta_kubernetes_pod_label_app], regex: triton, action: keep}
- {source_labels: [__meta_kubernetes_pod_name], target_label: replica_id}
`), &rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := labels.FromStrings(
		"__address__", "10.0.0.1:8002",
		"__meta_kubernetes_pod_label_app", "triton",
		"__meta_kubernetes_pod_name", "llama-0",
	)
	fmt.Println(rules.Target(pod))

	pod = labels.FromStrings("__address__", "10.0.0.2:80", "__meta_kubernetes_pod_label_app", "web")
	fmt.Println(rules.DroppedBy(pod))
	// Output:
	// {__address__="10.0.0.1:8002", replica_id="llama-0"} true
	// relabel_configs[0] keeps targets whose __meta_kubernetes_pod_label_app matches triton, and it is "web"
}

// Every series gets the identity of its target. The target's own label of such a name is
// renamed.
func ExampleRelabeler_Series() {
	relabeler := relabel.New(nil, relabel.TargetLabels{
		Engine: "triton", EngineVersion: "2.64.0", PoolID: "llama-prod", ReplicaID: "llama-0",
		ModelID:     func(string) string { return "llama-70b" },
		ModelLabels: []string{"model"},
	})
	series := relabeler.Series(
		labels.FromStrings("__name__", "nv_inference_count", "model", "ensemble", "pool_id", "theirs"),
	)
	series.Labels.Range(func(l labels.Label) { fmt.Printf("%s=%q\n", l.Name, l.Value) })
	fmt.Println("renamed:", series.Collisions)
	// Output:
	// __name__="nv_inference_count"
	// engine="triton"
	// engine_version="2.64.0"
	// exported_pool_id="theirs"
	// model="ensemble"
	// model_id="llama-70b"
	// pool_id="llama-prod"
	// replica_id="llama-0"
	// trtllm_version="unknown"
	// renamed: [pool_id]
}
