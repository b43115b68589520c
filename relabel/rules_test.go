package relabel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// rules parses rules strictly, like the configuration file.
func rules(tb testing.TB, text string) relabel.Rules {
	tb.Helper()
	r, err := decode(text)
	require.NoError(tb, err)
	require.NoError(tb, r.Validate())
	return r
}

func decode(text string) (relabel.Rules, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	var r relabel.Rules
	err := dec.Decode(&r)
	return r, err
}

func TestTargetRelabelingMatchesPrometheus(t *testing.T) {
	for name, tc := range map[string]struct {
		rules string
		in    []string
		out   []string // nil: the target is dropped.
	}{
		"no rule keeps all but the labels of discovery and of rules": {
			rules: `[]`,
			in: []string{
				"__address__", "h:1", "__meta_x", "1", "__tmp_y", "2", "__tmp", "3", "__scheme__", "http",
				"__metrics_path__", "/m", "__scrape_interval__", "5s", "__scrape_timeout__", "4s", "__param_q",
				"v", "rack", "r1",
			},
			out: []string{
				"__address__", "h:1", "__scheme__", "http", "__metrics_path__", "/m", "__scrape_interval__", "5s",
				"__scrape_timeout__", "4s", "__param_q", "v", "rack", "r1",
			},
		},
		"replace without sources sets a constant": {
			rules: `[{target_label: zone, replacement: eu}]`,
			in:    []string{"a", "x"}, out: []string{"a", "x", "zone", "eu"},
		},
		"a pod names its replica": {
			rules: `[{source_labels: [__meta_kubernetes_namespace, __meta_kubernetes_pod_name], separator: ".", target_label: replica_id}]`,
			in: []string{
				"__meta_kubernetes_namespace", "llm", "__meta_kubernetes_pod_name", "triton-0",
			}, out: []string{"replica_id", "llm.triton-0"},
		},
		"one rule hands a value to the next in a __tmp label": {
			rules: `[{source_labels: [a], target_label: __tmp_a}, {source_labels: [__tmp_a], target_label: b}]`,
			in:    []string{"a", "x"}, out: []string{"a", "x", "b", "x"},
		},
		"keep drops the rest": {
			rules: `[{source_labels: [a], regex: "x|y", action: keep}]`,
			in:    []string{"a", "z"},
		},
		"drop keeps the rest": {
			rules: `[{source_labels: [a], regex: "x|y", action: Drop}]`,
			in:    []string{"a", "z"}, out: []string{"a", "z"},
		},
		"hashmod is the end of the MD5 of the value": {
			rules: `[{source_labels: [a], target_label: shard, modulus: 1000, action: hashmod}]`,
			in:    []string{"a", "foo"}, out: []string{"a", "foo", "shard", "696"},
		},
		"names may be any UTF-8": {
			rules: `[{source_labels: ["my.label"], target_label: "their label"}]`,
			in:    []string{"my.label", "x"}, out: []string{"my.label", "x", "their label", "x"},
		},
		"rules after a dropping one are skipped": {
			rules: `[{regex: ".*", action: drop}, {target_label: a, replacement: b}]`,
			in:    []string{"a", "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := decode(tc.rules) // Rules that were read need no validation.
			require.NoError(t, err)
			out, keep := r.Target(labels.FromStrings(tc.in...))
			require.Equal(t, tc.out != nil, keep)
			require.Equal(t, labels.FromStrings(tc.out...).Map(), out.Map())
		})
	}
}

func TestInvalidRuleIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[{source_label: [a]}]`:              "source_label",
		`[{regex: "("}]`:                     "missing closing )",
		`[{action: replce}]`:                 `unknown relabel action "replce"`,
		`[{modulus: many}]`:                  "many",
		`{action: drop}`:                     "cannot unmarshal",
		`[{regex: "a", regex: "b"}]`:         "already defined",
		"[{action: keep, unknown_key: yes}]": "unknown_key",
	} {
		_, err := decode(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestValidateNamesRuleAndKey(t *testing.T) {
	for text, want := range map[string]string{
		`[{target_label: a}, {source_labels: [a]}]`:                            "[1].target_label: ",
		`[{action: hashmod, target_label: a}]`:                                 "[0].modulus: ",
		`[{action: hashmod, modulus: 2}]`:                                      "[0].target_label: ",
		`[{action: lowercase}]`:                                                "[0].target_label: ",
		`[{action: lowercase, target_label: a, replacement: b}]`:               "[0].replacement: ",
		`[{action: uppercase, target_label: a, replacement: b}]`:               "[0].replacement: ",
		`[{action: labelmap, replacement: ""}]`:                                "[0].replacement: ",
		`[{action: labelkeep, source_labels: [a], regex: b}]`:                  "[0].source_labels: ",
		`[{action: labeldrop, target_label: a}]`:                               "[0].target_label: ",
		`[{action: labeldrop, modulus: 3}]`:                                    "[0].modulus: ",
		`[{action: labeldrop, separator: x}]`:                                  "[0].separator: ",
		`[{action: labeldrop, replacement: x}]`:                                "[0].replacement: ",
		`[{action: keepequal, source_labels: [a]}]`:                            "[0].target_label: ",
		`[{action: keepequal, source_labels: [a], target_label: b, regex: c}]`: "[0].regex: ",
		`[{action: dropequal, target_label: b, modulus: 3}]`:                   "[0].modulus: ",
		`[{action: ""}]`: "unknown relabel action",
		`[{}, null]`:     "[1]: is empty",
	} {
		r, err := decode(text)
		if err == nil {
			err = r.Validate()
			require.ErrorContains(
				t,
				append(r, nil).Validate(),
				fmt.Sprintf("[%d]: is empty", len(r)),
				"every error is reported",
			)
		}
		require.ErrorContains(t, err, want, text)
	}
}

func TestRulesBuiltInCodeAreValidated(t *testing.T) {
	r := relabel.Rules{{Action: "drop"}, nil}
	require.ErrorContains(t, r.Validate(), "[0].regex: is not set")
	require.ErrorContains(t, r.Validate(), "[1]: is empty")
	built := prometheus.DefaultRelabelConfig
	built.SourceLabels, built.TargetLabel, built.NameValidationScheme = model.LabelNames{
		"a",
	}, "their label", model.UnsetValidation
	r = relabel.Rules{&built}
	require.NoError(t, r.Validate())
	out, keep := r.Target(labels.FromStrings("a", "x"))
	require.True(t, keep, "the target is kept")
	require.Equal(t, map[string]string{"a": "x", "their label": "x"}, out.Map())

	r = rules(t, `[{target_label: a, replacement: b}]`)
	r[0].Action = ""
	require.ErrorContains(t, r.Validate(), "[0].action: ")
	for _, action := range []prometheus.Action{prometheus.Lowercase, prometheus.KeepEqual} {
		r = rules(t, `[{action: uppercase, target_label: a}]`)
		r[0].Action, r[0].TargetLabel = action, "\xff"
		require.ErrorContains(t, r.Validate(), "[0].target_label: ", action)
	}
}

func TestSeriesRuleCannotRenameTarget(t *testing.T) {
	for text, want := range map[string]string{
		`[{target_label: pool_id, replacement: x}]`:                                      `[0].target_label: "pool_id" identifies targets`,
		`[{action: labeldrop, regex: x}, {action: uppercase, target_label: replica_id}]`: `[1].target_label: "replica_id" identifies targets`,
		`[{action: hashmod, target_label: x}]`:                                           "[0].modulus: ",
	} {
		r, err := decode(text)
		require.NoError(t, err)
		require.ErrorContains(t, r.ValidateSeries(), want)
	}
	for _, text := range []string{
		`[{target_label: engine, replacement: x}]`,
		`[{action: keepequal, source_labels: [a], target_label: pool_id}]`,
		`[{action: labeldrop, regex: ".*_id"}]`,
	} {
		require.NoError(t, rules(t, text).ValidateSeries(), text)
	}
}
