package relabel_test

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// llama returns a fully known replica.
func llama() relabel.TargetLabels {
	return relabel.TargetLabels{
		Engine: "triton", EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0", PoolID: "llama-prod", ReplicaID: "r0",
		ModelID: func(name string) string {
			return map[string]string{"ensemble": "llama-70b", "tensorrt_llm": "llama-70b", "bad": "\xff"}[name]
		},
		ModelLabels: []string{"model", "model_name"},
	}
}

// ours returns the labels of llama's series.
func ours(more ...string) map[string]string {
	all := labels.FromStrings("engine", "triton", "engine_version", "2.64.0", "trtllm_version", "1.1.0", "pool_id", "llama-prod", "replica_id", "r0").
		Map()
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
		if more[i+1] == "" {
			delete(all, more[i])
		}
	}
	return all
}

func TestSeriesHaveTargetIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*relabel.TargetLabels)
		in     []string
		out    map[string]string
		moved  []string
	}{
		"a series of the server": {
			in: []string{
				"__name__", "nv_gpu_utilization", "gpu_uuid", "GPU-1",
			}, out: ours("__name__", "nv_gpu_utilization", "gpu_uuid", "GPU-1"),
		},
		"a series of a model": {
			in:  []string{"__name__", "nv_inference_count", "model", "tensorrt_llm", "version", "1"},
			out: ours("__name__", "nv_inference_count", "model", "tensorrt_llm", "version", "1", "model_id", "llama-70b"),
		},
		"label model_name": {
			in: []string{
				"__name__", "a", "model_name", "ensemble",
			}, out: ours("__name__", "a", "model_name", "ensemble", "model_id", "llama-70b"),
		},
		"the first present model label counts": {
			change: func(id *relabel.TargetLabels) { id.ModelLabels = []string{"served", "model"} },
			in: []string{
				"__name__", "a", "model", "ensemble", "model_name", "x",
			}, out: ours("__name__", "a", "model", "ensemble", "model_name", "x", "model_id", "llama-70b"),
		},
		"no label names a model": {
			change: func(id *relabel.TargetLabels) { id.ModelLabels = nil },
			in:     []string{"__name__", "a", "model", "ensemble"}, out: ours("__name__", "a", "model", "ensemble"),
		},
		"a model without an id": {
			in: []string{"__name__", "a", "model", "other"}, out: ours("__name__", "a", "model", "other"),
		},
		"models are not known": {
			change: func(id *relabel.TargetLabels) { id.ModelID = nil },
			in:     []string{"__name__", "a", "model", "ensemble"}, out: ours("__name__", "a", "model", "ensemble"),
		},
		"unknown values": {
			change: func(id *relabel.TargetLabels) { *id = relabel.TargetLabels{} },
			in:     []string{"__name__", "a"},
			out:    ours("__name__", "a", "engine", "unknown", "engine_version", "unknown", "trtllm_version", "unknown", "pool_id", "unknown", "replica_id", "unknown"),
		},
		"versions in the info metric only": {
			change: func(id *relabel.TargetLabels) { id.Versions = relabel.VersionsInfo },
			in:     []string{"__name__", "a"}, out: ours("__name__", "a", "engine_version", "", "trtllm_version", ""),
		},
		"versions in the info metric only, with those of the target": {
			change: func(id *relabel.TargetLabels) { id.Versions = relabel.VersionsInfo },
			in:     []string{"__name__", "a", "engine_version", "9"},
			out:    ours("__name__", "a", "engine_version", "", "trtllm_version", "", "exported_engine_version", "9"),
			moved:  []string{"engine_version"},
		},
		"versions in both places": {
			change: func(id *relabel.TargetLabels) { id.Versions = relabel.VersionsBoth },
			in:     []string{"__name__", "a"}, out: ours("__name__", "a"),
		},
		"further labels of the target": {
			change: func(id *relabel.TargetLabels) {
				id.Labels = map[string]string{
					"rack":     "r1",
					"empty":    "",
					"pool_id":  "evil",
					"__meta_x": "1",
					"__name__": "b",
				}
			},
			in: []string{"__name__", "a"}, out: ours("__name__", "a", "rack", "r1"),
		},
		"text that is not UTF-8 is repaired": {
			change: func(id *relabel.TargetLabels) {
				id.EngineVersion, id.ReplicaID, id.Labels = "2\xff", "r\xfe", map[string]string{"rack": "\xff", "\xff": "x"}
			},
			in:  []string{"__name__", "a", "model", "bad"},
			out: ours("__name__", "a", "model", "bad", "engine_version", "2�", "replica_id", "r�", "rack", "�", "model_id", "�"),
		},

		"L01: the target claims a pool": {
			in:    []string{"__name__", "a", "pool_id", "evil"},
			out:   ours("__name__", "a", "exported_pool_id", "evil"),
			moved: []string{"pool_id"},
		},
		"L02: and the way out is taken": {
			in:    []string{"__name__", "a", "pool_id", "evil", "exported_pool_id", "old"},
			out:   ours("__name__", "a", "exported_pool_id", "old", "exported_exported_pool_id", "evil"),
			moved: []string{"pool_id"},
		},
		"and the next one too": {
			in:    []string{"__name__", "a", "pool_id", "3", "exported_pool_id", "2", "exported_exported_pool_id", "1"},
			out:   ours("__name__", "a", "exported_exported_pool_id", "1", "exported_pool_id", "2", "exported_exported_exported_pool_id", "3"),
			moved: []string{"pool_id"},
		},
		"and the way out is a label of discovery": {
			change: func(id *relabel.TargetLabels) { id.Labels = map[string]string{"exported_pool_id": "ours"} },
			in:     []string{"__name__", "a", "pool_id", "3", "exported_pool_id", "2"},
			out:    ours("__name__", "a", "exported_pool_id", "ours", "exported_exported_pool_id", "3", "exported_exported_exported_pool_id", "2"),
			moved:  []string{"exported_pool_id", "pool_id"},
		},
		"the target claims all identity labels": {
			in: []string{
				"__name__", "a", "engine", "1", "engine_version", "2", "trtllm_version", "3", "pool_id", "4",
				"replica_id", "5", "model_id", "6", "model", "ensemble",
			},
			out: ours("__name__", "a", "exported_engine", "1", "exported_engine_version", "2", "exported_trtllm_version", "3", "exported_pool_id", "4", "exported_replica_id", "5",
				"exported_model_id", "6", "model", "ensemble", "model_id", "llama-70b"),
			moved: []string{"engine", "engine_version", "model_id", "pool_id", "replica_id", "trtllm_version"},
		},
		"the target claims a model_id without a model": {
			in:    []string{"__name__", "a", "model_id", "evil"},
			out:   ours("__name__", "a", "exported_model_id", "evil"),
			moved: []string{"model_id"},
		},
		"the target claims the right value": {
			in: []string{
				"__name__", "a", "pool_id", "llama-prod",
			}, out: ours("__name__", "a", "exported_pool_id", "llama-prod"), moved: []string{"pool_id"},
		},
		"a label of discovery wins over the target": {
			change: func(id *relabel.TargetLabels) { id.Labels = map[string]string{"model": "ours"} },
			in:     []string{"__name__", "a", "model", "ensemble"},
			out:    ours("__name__", "a", "model", "ours", "exported_model", "ensemble", "model_id", "llama-70b"),
			moved:  []string{"model"},
		},
		"honor_labels lets the target win over a label of discovery": {
			change: func(id *relabel.TargetLabels) {
				id.Labels, id.HonorLabels = map[string]string{"rack": "ours", "row": "ours"}, true
			},
			in:  []string{"__name__", "a", "rack", "theirs"},
			out: ours("__name__", "a", "rack", "theirs", "row", "ours"),
		},
		"honor_labels does not let it win over the identity": {
			change: func(id *relabel.TargetLabels) { id.HonorLabels = true },
			in: []string{
				"__name__", "a", "replica_id", "evil", "model_id", "evil",
			}, out: ours("__name__", "a", "exported_replica_id", "evil", "exported_model_id", "evil"),
			moved: []string{"model_id", "replica_id"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := llama()
			if tc.change != nil {
				tc.change(&id)
			}
			r := relabel.New(nil, id)
			clear(id.ModelLabels) // The relabeler has copies.
			clear(id.Labels)
			for range 2 { // The second time with a builder that was used.
				res := r.Series(labels.FromStrings(tc.in...))
				require.True(t, res.Keep, "the series is kept")
				require.Empty(t, res.Reason)
				require.Equal(t, tc.out, res.Labels.Map())
				require.Equal(t, tc.moved, res.Collisions)
			}
		})
	}
}

func TestSeriesRulesSeeIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		rules  string
		in     []string
		out    map[string]string
		reason string
	}{
		"a family is dropped": {
			rules:  `[{source_labels: [__name__], regex: "nv_.*", action: drop}]`,
			in:     []string{"__name__", "nv_x", "pool_id", "evil"},
			reason: relabel.ReasonDropped,
		},
		"a family is renamed": {
			rules: `[{source_labels: [__name__], regex: "nv_(.*)", target_label: __name__, replacement: "triton_$1"}]`,
			in:    []string{"__name__", "nv_x"}, out: ours("__name__", "triton_x"),
		},
		"series of one pool are dropped": {
			rules: `[{source_labels: [pool_id, model_id], regex: "llama-prod;llama-70b", action: drop}]`,
			in:    []string{"__name__", "a", "model", "ensemble"}, reason: relabel.ReasonDropped,
		},
		"the engine's version is renamed": {
			rules: `[{source_labels: [engine_version], target_label: triton_version}, {regex: engine_version, action: labeldrop}]`,
			in:    []string{"__name__", "a"},
			out:   ours("__name__", "a", "engine_version", "", "triton_version", "2.64.0"),
		},
		"the engine is the operator's business": {
			rules: `[{target_label: engine, replacement: mine}]`,
			in:    []string{"__name__", "a"},
			out:   ours("__name__", "a", "engine", "mine"),
		},
		"dropped pool and replica are restored": {
			rules: `[{regex: ".*_id|engine", action: labeldrop}]`,
			in:    []string{"__name__", "a", "model", "ensemble"},
			out:   ours("__name__", "a", "engine", "", "model", "ensemble"),
		},
		"forged pool and replica are restored": {
			rules: `[{source_labels: [x], target_label: pool_id}, {regex: "x", replacement: replica_id, action: labelmap}]`,
			in:    []string{"__name__", "a", "x", "evil"}, out: ours("__name__", "a", "x", "evil"),
		},
		"temporary labels are removed": {
			rules: `[{source_labels: [x], target_label: __tmp_x}, {source_labels: [x], target_label: __mine}, {source_labels: [__tmp_x], target_label: y}]`,
			in:    []string{"__name__", "a", "x", "1"}, out: ours("__name__", "a", "x", "1", "y", "1"),
		},
		"a series without a name": {
			rules:  `[{regex: __name__, action: labeldrop}]`,
			in:     []string{"__name__", "a"},
			reason: relabel.ReasonInvalidName,
		},
		"a series with an empty name": {
			rules:  `[{target_label: __name__, replacement: ""}]`,
			in:     []string{"__name__", "a"},
			reason: relabel.ReasonInvalidName,
		},
		"a series without name":    {rules: `[]`, in: []string{"x", "a"}, reason: relabel.ReasonInvalidName},
		"a name that is not UTF-8": {rules: `[]`, in: []string{"__name__", "\xff"}, reason: relabel.ReasonInvalidName},
		"labelmap makes an empty label name": {
			rules:  `[{regex: "x(y?)", action: labelmap}]`,
			in:     []string{"__name__", "a", "x", "1"},
			reason: relabel.ReasonInvalidLabels,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := relabel.New(rules(t, tc.rules), llama())
			for range 2 {
				res := r.Series(labels.FromStrings(tc.in...))
				require.Equal(t, tc.reason, res.Reason)
				require.Equal(t, tc.reason == "", res.Keep)
				if !res.Keep {
					require.True(t, res.Labels.IsEmpty(), "labels of a dropped series: %s", res.Labels)
					require.Equal(
						t,
						slices.Contains(tc.in, "pool_id"),
						slices.Contains(res.Collisions, "pool_id"),
						"collisions count although the series is dropped",
					)
					continue
				}
				require.Equal(t, tc.out, res.Labels.Map())
			}
		})
	}
}
