package collector_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// kinds returns servers of every kind and generation by the name of their file. Those that simulate
// needs no code for are there by themselves.
func kinds() map[string]simulate.Spec {
	all := map[string]simulate.Spec{
		"triton-cpp-25.12": {Kind: simulate.KindTriton, Streaming: true, GPUs: 2},
		"triton-cpp-25.12-all-on": {
			Kind:      simulate.KindTriton,
			Streaming: true,
			GPUs:      1,
			Setup:     simulate.Setup{Histograms: true, Summaries: true, DeclareVersion: true},
		},
		"triton-cpp-25.07":         {Kind: simulate.KindTriton, EngineVersion: "2.59.1"},
		"triton-cpp-24.08":         {Kind: simulate.KindTriton, EngineVersion: "2.49.0"},
		"triton-cpp-23.11":         {Kind: simulate.KindTriton, EngineVersion: "2.40.0"},
		"triton-bls":               {Kind: simulate.KindTriton, Setup: simulate.Setup{BLS: true}},
		"triton-static":            {Kind: simulate.KindTriton, Setup: simulate.Setup{StaticBatching: true}},
		"triton-python-25.12":      {Kind: simulate.KindTritonPython},
		"triton-python-24.06":      {Kind: simulate.KindTritonPython, EngineVersion: "2.47.0"},
		"triton-llmapi":            {Kind: simulate.KindTritonLLMAPI},
		"triton-llmapi-module":     {Kind: simulate.KindTritonLLMAPIModule},
		"triton-core":              {Kind: simulate.KindTritonCore},
		"triton-vllm":              {Kind: simulate.KindTritonVLLM},
		"triton-main":              {Kind: simulate.KindTriton, EngineVersion: "2.73.0dev"},
		"triton-openai":            {Kind: simulate.KindTritonOpenAI},
		"triton-openai-vllm":       {Kind: simulate.KindTritonOpenAIVLLM},
		"triton-openai-llmapi":     {Kind: simulate.KindTritonOpenAILLMAPI},
		"triton-openai-module":     {Kind: simulate.KindTritonOpenAILLMAPIModule},
		"trtllm-serve-1.3":         {Kind: simulate.KindServe},
		"trtllm-serve-1.3-plain":   {Kind: simulate.KindServe, Setup: simulate.Setup{NoIterationStats: true}},
		"trtllm-serve-1.3-no-page": {Kind: simulate.KindServe, Setup: simulate.Setup{NoPerfMetrics: true}},
		"trtllm-serve-1.3.0rc5":    {Kind: simulate.KindServeGen2},
		"trtllm-serve-1.1":         {Kind: simulate.KindServeOld},
		"trtllm-serve-1.1-idle":    {Kind: simulate.KindServeOld, Workload: simulate.Workload{Rate: 0.00001}},
		"dynamo-worker":            {Kind: simulate.KindDynamo},
		"dynamo-frontend":          {Kind: simulate.KindDynamo},
		"vllm-0.32":                {Kind: simulate.KindVLLM},
		"vllm-0.32-silent":         {Kind: simulate.KindVLLM, Setup: simulate.Setup{NoPerfMetrics: true}},
		"sglang-0.5":               {Kind: simulate.KindSGLang},
		"sglang-0.5-no-page":       {Kind: simulate.KindSGLang, Setup: simulate.Setup{NoPerfMetrics: true}},
	}
	for _, kind := range simulate.Kinds() {
		if kind.Product() != "" {
			all[string(kind)] = simulate.Spec{Kind: kind}
		}
	}
	return all
}

func TestServerProperties(t *testing.T) {
	t.Parallel()
	for name, spec := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if spec.Workload.Rate == 0 {
				spec.Workload = simulate.Workload{Rate: 5, OutputTokens: 20}
			}
			spec.Seed, spec.Name = 7, "r0"
			r, err := simulate.NewReplica(spec)
			require.NoError(t, err)
			r.Advance(30 * time.Second)
			require.NoError(t, r.Listen(t.Context()))
			t.Cleanup(r.Close)
			p := pool("p", targetsOf(t, r)...)
			if name == "dynamo-frontend" {
				p = pool("p", "r0="+r.APIAddr()+"|"+r.APIAddr())
			}
			status, page := scrapedOnce(t, p)
			for status.DetectedEngine == "unknown" { // A scrape waits for the API for a second only.
				require.NoError(t, t.Context().Err())
				status, page = scrapedOnce(t, p)
			}
			fixture.RequireFile(t, filepath.Join("testdata", "kinds", name+".txt"), describe(&status, page))
		})
	}
}

// scrapedOnce scrapes the one target of a pool once.
func scrapedOnce(t *testing.T, p config.Pool) (target.Status, string) {
	t.Helper()
	return scrapedOnceBy(t, nil, p)
}

// scrapedOnceBy is scrapedOnce with a scraper other than that of the program.
func scrapedOnceBy(t *testing.T, s scrape.Scraper, p config.Pool) (target.Status, string) {
	t.Helper()
	store := snapshot.NewStore()
	c, err := collector.New(collector.Options{
		Store: store, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	if s != nil {
		c.UseScraper(s)
	}
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{p}
	cfg.Resolve()
	require.NoError(t, c.ApplyConfig(&cfg))
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	// The status has the failure, if any.
	_, _ = c.ScrapeOnce(ctx, time.Minute)
	tc := &testCollector{t: t, store: store}
	require.Len(t, store.Slots(), 1)
	return store.Slots()[0].Status(), tc.page()
}

// describe writes what the exporter knows about a server.
func describe(s *target.Status, page string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("labels: %s", identityOf(page))
	say("engine: %s", s.DetectedEngine)
	say("generation: %s: %s", cmp.Or(s.Generation, "none"), s.GenerationReason)
	say("versions: %s, %s from %s", s.EngineVersion, s.TRTLLMVersion, s.VersionSource)
	say("state: %s", s.State)
	for _, q := range target.FindChecks(s.Checks, assess.Unanswered) {
		say("unanswered: %s: %s", q.Name, q.Reason)
	}
	say("\nmodels:")
	for i := range s.Models {
		m := &s.Models[i]
		say("  %s: %s of %s, %s, backend %q, platform %q, batch %s, instances %s, decoupled %s, dynamic "+
			"batching %s, hash %t",
			m.Name, m.Role, m.ModelID, m.State, m.Backend, m.Platform, deref(m.MaxBatchSize), deref(m.Instances),
			deref(m.Decoupled), deref(m.Batching), m.ConfigHash != "")
	}
	for _, part := range []struct {
		title string
		all   []target.Check
	}{
		{"capabilities", target.FindChecks(s.Checks, assess.Capabilities)},
		{"determinism", target.FindChecks(s.Checks, assess.Determinism)},
	} {
		say("\n%s:", part.title)
		for _, v := range part.all {
			answer := map[bool]string{true: "yes", false: "no "}[v.OK]
			say("  %s %s: %s", answer, v.Name, v.Reason)
			if v.Cure != "" {
				say("      fix: %s", v.Cure)
			}
		}
	}
	return b.String()
}

// deref formats a pointer that may be nil.
func deref[T any](v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

// identityOf returns the six identity labels of the first series of the server that
// belongs to a model.
func identityOf(page string) string {
	for text := range strings.Lines(page) {
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "llm_server_") ||
			!strings.Contains(text, `model_id="`) {
			continue
		}
		var all []string
		for _, name := range relabel.IdentityLabels() {
			_, after, found := strings.Cut(text, name+`="`)
			if !found {
				continue
			}
			value, _, _ := strings.Cut(after, `"`)
			all = append(all, name+"="+value)
		}
		return strings.Join(all, " ")
	}
	return "no series of a model"
}

// A denied address is not a server that may still be loading.
func TestDeniedAddressIsDownImmediately(t *testing.T) {
	t.Parallel()
	f, err := config.FromTargets([]string{"http://169.254.169.254"}, config.DefaultPool)
	require.NoError(t, err)
	status, _ := scrapedOnce(t, f.Pools[0])
	require.Equal(t, "down", status.State)
	require.Contains(t, status.StateReason, "is in dial.deny")
}

// TestStrangerIsNoReplica uses programs that nobody listed, found by a discovery that finds them next
// to their servers.
func TestStrangerIsNoReplica(t *testing.T) {
	t.Parallel()
	const libraries = "# TYPE python_info gauge\npython_info 1\n"
	for _, c := range []struct {
		name, page, owner string
	}{
		{"a proxy", "envoy_cluster_upstream_rq_total 12\n", ""},
		{
			"a gateway that lists the models of vLLM",
			"litellm_proxy_total_requests_metric_total{model=\"gpt\"} 55\n",
			"vllm",
		},
		{
			"an idle router with the families of vLLM",
			libraries + "# TYPE vllm:num_requests_running gauge\nx 1\n",
			"vllm",
		},
		{"a router that is known", "smg_worker_health 1\n", "sglang"},
	} {
		s := newFakeServer(t)
		answers := map[string]http.HandlerFunc{"/metrics": body(c.page)}
		if c.owner != "" {
			answers["/v1/models"] = body(`{"data":[{"id":"m","owned_by":"` + c.owner + `"}]}`)
			answers["/version"] = body(`{"version":"0.18.0"}`)
		}
		s.setAnswers(answers, http.NotFound)
		for kind, counts := range map[string]bool{"auto": false, "unknown": true} {
			t.Run(c.name+" with engine "+kind, func(t *testing.T) {
				t.Parallel()
				p := pool("p", "r="+s.address())
				p.Engine = kind
				status, page := scrapedOnce(t, p)
				require.Equal(t, target.HealthUp, status.Health, status.LastError)
				require.Equal(t, "unknown", status.DetectedEngine)
				require.Equal(
					t,
					map[bool]string{false: "silent", true: "ready"}[counts],
					status.State,
					status.StateReason,
				)
				require.Equal(
					t,
					counts,
					strings.Contains(page, "llm_server_state{"),
					"what counts replicas counts states",
				)
				require.NotContains(t, page, "llm_server_requests")
				name := c.page[strings.LastIndex(strings.TrimSpace(c.page), "\n")+1:]
				name = name[:strings.IndexAny(name, "{ ")]
				requireText(t, page, name+"{", `pool_id="p",replica_id="r"`)
				if !counts {
					require.Contains(t, status.StateReason, "does not count as a replica")
				}
			})
		}
	}
}
