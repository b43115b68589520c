package kserve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

// everyConfig returns a ModelConfigResponse with every field that is read, a field of a
// later release among them.
func everyConfig() []byte {
	const large = 1 << 40
	pair := func(n, k, v string) []byte { return join(str(1, n+k), str(2, n+v)) }
	policy := join(num(1, 1), num(2, large), num(3, 1), num(4, 7))
	return msg(
		1,
		str(1, "n"),
		str(2, "p"),
		num(4, 1),
		str(8, "d"),
		str(17, "b"),
		str(25, "r"),
		msg(3, msg(1, num(1, 2)), msg(2), msg(3, packed(1, large, -1))),
		msg(
			5,
			str(1, "i"),
			num(2, 14),
			num(3, 2),
			packed(4, large),
			msg(5, packed(1, large)),
			num(6, 1),
			num(7, 1),
			num(8, 1),
			num(9, 1),
		),
		msg(6, str(1, "o"), num(2, 13), packed(3, large), str(4, "l"), msg(5, packed(1, large)), num(6, 1), num(7, 1)),
		msg(7, str(1, "g"), num(2, 3), packed(3, 0, 1), num(4, 3), str(5, "x"), str(5, "y"), num(7, 1), str(9, "h")),
		msg(9, pair("cc", "k", "v")),
		msg(10, pair("tag", "k", "v")),
		msg(14, str(1, "k"), msg(2, str(1, "v"))),
		msg(
			11,
			packed(1, 4, 8),
			num(2, large),
			num(3, 1),
			num(4, large),
			num(5, large),
			msg(6, policy),
			msg(7, num(1, large), msg(2, policy)),
		),
		msg(
			15,
			msg(
				1,
				str(1, "m"),
				num(2, large),
				msg(3, pair("in", "k", "v")),
				msg(4, pair("out", "k", "v")),
				str(5, "s"),
			),
		),
		msg(19, num(1, 1)),
		msg(24, num(1, 1)),
		num(99, 7),
		str(100, "a field of a later release"),
	)
}

const (
	queuePolicy     = `{"timeout_action": "DELAY", "default_timeout_microseconds": 1099511627776, "allow_timeout_override": true, "max_queue_size": 7}`
	everyConfigJSON = `{
		"name": "n", "platform": "p", "max_batch_size": 1, "default_model_filename": "d", "backend": "b", "runtime": "r",
		"version_policy": {"latest": {"num_versions": 2}, "all": {}, "specific": {"versions": [1099511627776, -1]}},
		"input": [{"name": "i", "data_type": "TYPE_BF16", "format": "FORMAT_NCHW", "dims": [1099511627776],
			"reshape": {"shape": [1099511627776]}, "is_shape_tensor": true, "allow_ragged_batch": true, "optional": true,
			"is_non_linear_format_io": true}],
		"output": [{"name": "o", "data_type": "TYPE_STRING", "dims": [1099511627776], "label_filename": "l",
			"reshape": {"shape": [1099511627776]}, "is_shape_tensor": true, "is_non_linear_format_io": true}],
		"instance_group": [{"name": "g", "count": 3, "gpus": [0, 1], "kind": "KIND_MODEL", "profile": ["x", "y"], "passive": true, "host_policy": "h"}],
		"cc_model_filenames": {"cck": "ccv"}, "metric_tags": {"tagk": "tagv"}, "parameters": {"k": {"string_value": "v"}},
		"dynamic_batching": {"preferred_batch_size": [4, 8], "max_queue_delay_microseconds": 1099511627776, "preserve_ordering": true,
			"priority_levels": 1099511627776, "default_priority_level": 1099511627776,
			"default_queue_policy": ` + queuePolicy + `, "priority_queue_policy": {"1099511627776": ` + queuePolicy + `}},
		"ensemble_scheduling": {"step": [{"model_name": "m", "model_version": 1099511627776, "input_map": {"ink": "inv"},
			"output_map": {"outk": "outv"}, "model_namespace": "s"}]},
		"model_transaction_policy": {"decoupled": true}, "response_cache": {"enable": true}
	}`
)

func TestEnumValues(t *testing.T) {
	for _, c := range []struct {
		field string
		words string
		reply func(v int64) []byte
	}{
		{"data_type", "TYPE_INVALID TYPE_BOOL TYPE_UINT8 TYPE_UINT16 TYPE_UINT32 TYPE_UINT64 TYPE_INT8 TYPE_INT16 " +
			"TYPE_INT32 TYPE_INT64 " +
			"TYPE_FP16 TYPE_FP32 TYPE_FP64 TYPE_STRING TYPE_BF16", func(v int64) []byte { return msg(6, num(2, v)) }},
		{"format", "FORMAT_NONE FORMAT_NHWC FORMAT_NCHW", func(v int64) []byte { return msg(5, num(3, v)) }},
		{"kind", "KIND_AUTO KIND_GPU KIND_CPU KIND_MODEL", func(v int64) []byte { return msg(7, num(4, v)) }},
		{"timeout_action", "REJECT DELAY", func(v int64) []byte { return msg(11, msg(6, num(1, v))) }},
	} {
		for i, word := range strings.Fields(c.words) {
			text, err := kserve.DecodeConfig(msg(1, c.reply(int64(i))))
			require.NoError(t, err)
			require.Contains(t, string(text), `"`+c.field+`":"`+word+`"`)
		}
	}
}

func TestUnusualConfigsAreRead(t *testing.T) {
	for _, c := range []struct {
		name string
		raw  []byte
		json string
	}{
		{
			"explicit default values",
			join(str(1, ""), num(4, 0), msg(19, num(1, 0)), msg(24)),
			`{"max_batch_size":0,"model_transaction_policy":{"decoupled":false},"name":"","response_cache":{}}`,
		},
		{
			"missing enums", join(msg(5), msg(6), msg(7)),
			`{"input":[{"data_type":"TYPE_INVALID","format":"FORMAT_NONE"}],"instance_group":[{"kind":"KIND_AUTO"}],"output":[{"data_type":"TYPE_INVALID"}]}`,
		},
		{"an enum of a later release", msg(7, num(4, 9)), `{"instance_group":[{"kind":9}]}`},
		{"letters that HTML escapes", str(1, "<a&b>"), `{"name":"\u003ca\u0026b\u003e"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := kserve.DecodeConfig(msg(1, c.raw))
			require.NoError(t, err)
			require.Equal(t, c.json, string(text))
		})
	}
}

func TestInvalidRepliesAreErrors(t *testing.T) {
	for name, reply := range map[string][]byte{
		"cut": {0x0a, 0x7f, 'x'}, "no tag": {0xff}, "not UTF-8": str(1, "\xff\xfe"),
		"deeply nested groups": []byte(strings.Repeat("\xfb\x07", 20000) + strings.Repeat("\xfc\x07", 20000)),
	} {
		_, _, err := ask(t, calling(serve(t, same(reply)).address), http.MethodGet, "/v2", 0)
		require.ErrorContains(t, err, "ServerMetadata: ", name)
	}
	full := everyConfig()
	for end := 1; end < len(full); end++ {
		_, err := kserve.DecodeConfig(full[:end])
		require.Error(t, err, "%d bytes", end)
	}
}
