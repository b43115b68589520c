package simulate_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// family is what does not depend on values in a family: its type, the names of
// labels of its series, and the bounds of its buckets.
type family struct {
	kind   string
	labels map[string]bool
	bounds []string
}

var (
	seriesLine = regexp.MustCompile(`^([a-zA-Z_:0-9]+)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_0-9]+)="([^"]*)"`)
)

// familiesOf are the families of a page by name.
func familiesOf(t *testing.T, body []byte) map[string]family {
	t.Helper()
	all := make(map[string]family)
	name := ""
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			name = words[2]
			all[name] = family{kind: words[3], labels: map[string]bool{}}
		}
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		parts := seriesLine.FindStringSubmatch(line)
		require.NotNil(t, parts, line)
		require.True(t, strings.HasPrefix(parts[1], name), "%s is under %s", line, name)
		f := all[name]
		for _, pair := range labelPair.FindAllStringSubmatch(parts[2], -1) {
			f.labels[pair[1]] = true
			if pair[1] == "le" && !slices.Contains(f.bounds, pair[2]) {
				f.bounds = append(f.bounds, pair[2])
			}
		}
		all[name] = f
	}
	return all
}

func TestFamiliesOfPythonServersAreThoseOfTheCapturedPages(t *testing.T) {
	load := simulate.Workload{Rate: 4, SharedPrefix: 0.5, AbandonRate: 0.2, ErrorRate: 0.1}
	for _, c := range []struct {
		kind simulate.Kind
		// files are captures which together have all families.
		files []string
		// short are families of which the simulated one has fewer labels, or bounds,
		// which go by the length of the context.
		short []string
	}{
		{simulate.KindVLLM, []string{"real-vllm-0.32.0-after-errors.prom", "real-vllm-0.32.0-after-load.prom"}, []string{
			"vllm:cache_config_info", "vllm:request_prompt_tokens", "vllm:request_generation_tokens", "vllm:request_prefill_kv_computed_tokens",
		}},
		{simulate.KindSGLang, []string{"real-sglang-0.5.23-after-load.prom", "real-sglang-0.5.23-after-disconnect.prom"}, nil},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			want := make(map[string]family)
			for _, file := range c.files {
				maps.Copy(want, familiesOf(t, sample(t, file)))
			}
			r := newReplica(t, simulate.Spec{Kind: c.kind, Workload: load})
			r.Advance(time.Minute)
			got := familiesOf(t, r.Page())
			require.Greater(t, len(got), 25)
			for name, f := range got {
				require.Contains(t, want, name)
				require.Equal(t, want[name].kind, f.kind, name)
				if !slices.Contains(c.short, name) {
					require.Equal(t, want[name].labels, f.labels, name)
					require.Equal(t, want[name].bounds, f.bounds, name)
					continue
				}
				for label := range f.labels {
					require.Contains(t, want[name].labels, label, name)
				}
			}
		})
	}
}
