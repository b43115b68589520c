package simulate_test

import (
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
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

func TestPythonServersAnswerAsTheRealOnesDo(t *testing.T) {
	t.Parallel()
	load := simulate.Workload{Rate: 4}
	for _, c := range []struct {
		kind   simulate.Kind
		accept string
		path   string
		has    string
		not    string
	}{
		{simulate.KindVLLM, "application/openmetrics-text;version=1.0.0", "/metrics", "vllm:generation_tokens_total{", "# EOF"},
		{simulate.KindVLLM, "text/plain;q=0.9,application/openmetrics-text;q=0.1", "/metrics/", "vllm_generation_tokens_total{", "\nvllm:generation_tokens_total{"},
		{simulate.KindSGLang, "text/plain;q=0.9,application/openmetrics-text;q=0.1", "/metrics", "sglang_num_requests_total{", "\nsglang:num_requests_total{"},
		{simulate.KindSGLang, "text/plain;version=0.0.4", "/metrics", "sglang:num_requests_total{", "# EOF"},
	} {
		r := listening(t, simulate.Spec{Kind: c.kind, Workload: load})
		r.Advance(time.Minute)
		body := accepting(t, r.APIURL()+c.path, c.accept)
		require.Contains(t, body, c.has, "%s %s", c.kind, c.accept)
		require.NotContains(t, body, c.not, "%s %s", c.kind, c.accept)
	}
}

func TestServersWithoutTheirStatistics(t *testing.T) {
	t.Parallel()
	silent := newReplica(t, simulate.Spec{Kind: simulate.KindVLLM, Setup: simulate.Setup{NoPerfMetrics: true}, Workload: simulate.Workload{Rate: 4}})
	silent.Advance(time.Minute)
	require.Contains(t, string(silent.Page()), "http_requests_total{")
	require.NotContains(t, string(silent.Page()), "vllm:")
	none := listening(t, simulate.Spec{Kind: simulate.KindSGLang, Setup: simulate.Setup{NoPerfMetrics: true}})
	require.Equal(t, http.StatusNotFound, get(t, none.MetricsURL()).status)
	require.Contains(t, get(t, none.APIURL()+"/v1/models").body, `"owned_by":"sglang"`)
}

// As a real one has it: what may be used again is evictable and not used.
func TestTheCacheOfSGLangAddsUp(t *testing.T) {
	r, err := simulate.NewReplica(simulate.Spec{Kind: simulate.KindSGLang, Workload: simulate.Workload{Rate: 4, SharedPrefix: 1}})
	require.NoError(t, err)
	tokens := func(name string) float64 {
		line := regexp.MustCompile(`(?m)^sglang:` + name + `\{.*\} (\S+)$`).FindSubmatch(r.Page())
		require.NotNil(t, line, name)
		v, err := strconv.ParseFloat(string(line[1]), 64)
		require.NoError(t, err)
		return v
	}
	for _, when := range []string{"under load", "idle"} {
		r.Advance(time.Minute)
		used, evictable := tokens("kv_used_tokens"), tokens("kv_evictable_tokens")
		require.Equal(t, tokens("max_total_num_tokens"), used+evictable+tokens("kv_available_tokens"), when)
		require.GreaterOrEqual(t, used, 0.0, when)
		require.GreaterOrEqual(t, tokens("token_usage"), 0.0, when)
		r.SetRate(0)
	}
	require.Zero(t, tokens("kv_used_tokens"))
	require.Positive(t, tokens("kv_evictable_tokens"))
}

func TestHealthOfSGLangGoesThroughTheEngine(t *testing.T) {
	t.Parallel()
	spec := simulate.Spec{Kind: simulate.KindSGLang, Speed: 20}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: []simulate.Spec{spec}}}})
	require.NoError(t, err)
	defer fleet.Close()
	r := fleet.Pools()[0].Replicas[0]
	before := r.Truth().Arrived
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/health").status)
	require.Equal(t, before+1, r.Truth().Arrived)
	require.Equal(t, http.StatusNotFound, get(t, r.APIURL()+"/version").status)
}

// accepting is the body of a page for a client that accepts this.
func accepting(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}
