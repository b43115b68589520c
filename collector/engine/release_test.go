package engine_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestReleasesHoldVersions(t *testing.T) {
	for _, c := range []struct {
		releases engine.Releases
		in, out  string
	}{
		{engine.Releases{}, "0.1 nonsense ", ""},
		{engine.Releases{From: "0.9.2"}, "0.9.2 v0.9.2 0.9.2rc1 0.9.2.post1 0.10.0rc1 0.10 1.0", "0.9.1 0.9.1.post9 unknown"},
		{engine.Releases{From: "0.4.3.post4"}, "0.4.3.post4 0.4.3.post10 0.4.4", "0.4.3 0.4.3.post3"},
		{engine.Releases{Before: "0.12"}, "0.11.2 0.11.3.dev3+g1", "0.12 0.12.0rc1 0.12.0 0.12.1 main"},
		{engine.Releases{From: "1.1.0", Before: "1.3.0rc5"}, "1.2.1 1.3.0rc4", "1.0.3 1.3.0rc5 1.3.0rc10 1.3.0"},
		{engine.Releases{From: "b4567"}, "b4567-f3a1 b10000", "b4566"},
	} {
		for version := range strings.FieldsSeq(c.in) {
			require.True(t, c.releases.Hold(version), "%s are in %s", version, c.releases)
		}
		for version := range strings.FieldsSeq(c.out) {
			require.False(t, c.releases.Hold(version), "%s is not in %s", version, c.releases)
		}
	}
}

// TestReleasesOfSeries has bounds that are releases, in their order. If a series ended after another came for
// the same quantity, some releases show both, which would count twice unless the page takes away a meaning.
func TestReleasesOfSeries(t *testing.T) {
	for _, e := range engine.All() {
		for _, m := range e.Meanings() {
			r := m.Releases
			for _, bound := range []string{r.From, r.Before, r.Hidden} {
				is := engine.Releases{From: bound}
				require.True(t, bound == "" || is.Hold(bound), "%s, %s: %q is no release", e.Name, m.Name, bound)
			}
			require.True(t, r.From == "" || r.Hold(r.From), "%s, %s: no release is in %s", e.Name, m.Name, r)
			require.True(t, r.Hidden == "" || r.Hold(r.Hidden), "%s, %s: %s", e.Name, m.Name, r)
			for _, newer := range e.Meanings() {
				require.False(t, overlap(&m, &newer) && !slices.ContainsFunc(
					m.Unless, func(e engine.Exception) bool { return e.Name == newer.Name },
				), "%s: %s, in %s, is not replaced by %s, in %s", e.Name, m.Name, r, newer.Name, newer.Releases)
			}
		}
	}
}

// TestNameThatStandsTwice has the earliest of its releases, whatever the order of a map.
func TestNameThatStandsTwice(t *testing.T) {
	early, late := engine.Releases{From: "0.4.2", Before: "0.5"}, engine.Releases{From: "0.10"}
	for range 64 {
		got := engine.ReleasesIn(map[engine.Releases][]string{late: {"a", "b"}, early: {"b"}}, "b")
		require.Equal(t, early, got)
	}
}

// overlap reports whether a series ended after another one of the same quantity came.
func overlap(m, newer *engine.Meaning) bool {
	return m.Signal == newer.Signal && m.Const == newer.Const && m.Inside == newer.Inside && m.Releases.Before != "" &&
		newer.Releases.From != "" && newer.Releases.From != m.Releases.From && m.Releases.Hold(newer.Releases.From)
}

// TestReleasesOfSamplePages compares the releases of series with pages that the code of each release wrote:
// whatever is read is in its releases, and what is said to have come later is not on the page.
func TestReleasesOfSamplePages(t *testing.T) {
	name := regexp.MustCompile(`^(vllm|sglang)-(\d[0-9a-z.]*)`)
	for _, path := range samples(t, "releases/*.prom") {
		found := name.FindStringSubmatch(sampleName(path))
		require.NotNil(t, found, path)
		e, version := engineOf(t, engine.Name(found[1])), found[2]
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		page := readPage(t, e.Name, body)
		for _, s := range page.Sources() {
			decides := s.Meaning.Releases.Decide // Others read the same name.
			require.True(t, decides || s.Meaning.Releases.Hold(version),
				"%s shows %s, which is in %s", path, s.Meaning.Name, s.Meaning.Releases)
		}
		known := &engine.Knowledge{Page: page, Version: version}
		for _, c := range engine.Capabilities(e, known) {
			series, _, absent := strings.Cut(c.Reason, " came with ")
			if !absent {
				continue
			}
			lacks := func(m engine.Meaning) bool { return m.Name == series && !page.Has(m.Signal) }
			require.True(t, slices.ContainsFunc(e.Meanings(), lacks),
				"%s shows what %s would, and yet: %s", path, series, c.Reason)
		}
	}
}

// TestReleaseTellsWhetherHitsAreTokens uses pages of vLLM, alone and inside of a NIM, whose release is another's.
func TestReleaseTellsWhetherHitsAreTokens(t *testing.T) {
	const (
		gpu = "vllm:gpu_prefix_cache_hits_total{model_name=\"m\"} 6\n" +
			"vllm:gpu_prefix_cache_queries_total{model_name=\"m\"} 9\n"
		newer  = "vllm:prefix_cache_hits_total{model_name=\"m\"} 6\nvllm:prefix_cache_queries_total{model_name=\"m\"} 9\n"
		source = "vllm:prompt_tokens_by_source_total{model_name=\"m\",source=\"local_cache_hit\"} 6\n" +
			"vllm:prompt_tokens_total{model_name=\"m\"} 9\n"
		share   = "true, vllm:gpu_prefix_cache_hits_total of vllm:gpu_prefix_cache_queries_total, "
		blocks  = share + "in blocks before 0.9.0, which are not counted as tokens"
		prompts = "prompt tokens that were found in the prefix cache"
	)
	for _, c := range []struct {
		kind          engine.Name
		version, page string
		want          string
	}{
		{engine.VLLM, "0.7.3", gpu, blocks},
		{engine.VLLM, "0.8.5.post1", gpu, blocks},
		{engine.VLLM, "", gpu, blocks},
		{engine.VLLM, "0.9.0", gpu, share + prompts},
		{engine.NIM, "0.9.0", gpu, blocks},
		{
			engine.VLLM, "", gpu + newer,
			"true, vllm:prefix_cache_hits_total of vllm:prefix_cache_queries_total, " + prompts,
		},
		{
			engine.VLLM, "0.16.0", newer + source,
			"true, vllm:prompt_tokens_by_source_total {source=\"local_cache_hit\"} of vllm:prompt_tokens_total, " + prompts,
		},
	} {
		known := &engine.Knowledge{Page: readPage(t, c.kind, []byte(c.page)), Version: c.version}
		require.Equal(t, c.want, capability(t, c.kind, engine.CanKVReuse, known), "%s %s", c.kind, c.version)
	}
}

func TestOlderReleaseIsTheReason(t *testing.T) {
	const page = "sglang:num_running_reqs 1\nsglang:generation_tokens_total 9\n"
	for _, c := range []struct{ version, capability, want string }{
		{
			"0.4.3", engine.CanKVReuse,
			"false, sglang:cached_tokens_total came with 0.4.3.post4, and this is 0.4.3 [release 0.4.3.post4 or later]",
		},
		{
			"0.4.3", engine.CanTPOT, "false, sglang:inter_token_latency_seconds came with 0.4.3.post3, and this is " +
				"0.4.3 [release 0.4.3.post3 or later]",
		},
		{
			"0.5.6", engine.CanOutcomes,
			"false, sglang:http_responses_total came with 0.5.6.post2, and this is 0.5.6 [release 0.5.6.post2 or later]",
		},
		{"0.5.9", engine.CanTPOT, "false, not on the page yet; families appear with the first request"},
		{"", engine.CanTPOT, "false, not on the page yet; families appear with the first request"},
		{"main", engine.CanTPOT, "false, not on the page yet; families appear with the first request"},
	} {
		known := &engine.Knowledge{
			Page:    readPage(t, engine.SGLang, []byte(page)),
			Version: c.version,
		}
		require.Equal(t, c.want, capability(t, engine.SGLang, c.capability, known), c.version)
	}
	// The version of a NIM is not that of the engine inside.
	known := &engine.Knowledge{
		Page:    readPage(t, engine.NIM, []byte(page)),
		Version: "0.4.3",
	}
	require.NotContains(t, capability(t, engine.NIM, engine.CanTPOT, known), "came with")
}
