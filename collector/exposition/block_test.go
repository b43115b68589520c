package exposition_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestBlockIsIndependentOfBody(t *testing.T) {
	c := exposition.NewCache(exposition.Options{})
	body := []byte("a 1\nb 2\n")
	first, err := c.Parse(body, "", nil)
	require.NoError(t, err)
	for _, next := range []string{"a 3\nb 4\n", "a 5\nb 6\n", "c 7\nd 8\n"} {
		copy(body, next)
		_, err := c.Parse(body, "", nil)
		require.NoError(t, err)
		require.Equal(t, "# TYPE a untyped\na 1\n# TYPE b untyped\nb 2\n", render(t, &exposition.Merger{}, first))
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct{ name, text, err string }{
		{"all of it", "{raw: false, normalised: true, aliases: [vllm, otel, trtllm], page_max_age: 1s}", ""},
		{"aliases alone", "{raw: false, normalised: false, aliases: [vllm]}", ""},
		{"an unknown set", "{aliases: [tgi]}", `exposition.aliases[0]: unknown set "tgi"; use otel, trtllm, vllm`},
		{"a set twice", "{aliases: [vllm, vllm]}", `exposition.aliases[1]: "vllm" is listed twice`},
		{"nothing on the page", "{raw: false, normalised: false}", "/metrics would be empty; turn one on"},
		{"an invalid duration", "{page_max_age: soon}", "not a valid duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := exposition.DefaultConfig
			err := yaml.Unmarshal([]byte(c.text), &config)
			if err == nil {
				err = config.Validate()
			}
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
		})
	}
}
