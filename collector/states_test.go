package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// scene is a pool of one simulated server to which things happen, and one
// bystander whose time stands still.
type scene struct {
	*line

	subject *simulate.Replica
	calm    string
}

// speed is how much faster than the wall clock the subject lives.
const speed = 20

// long is what the subject takes for what a test wants to see happening: longer
// than the test waits for it, however busy the machine is. The test ends it.
const long = speed * time.Minute

// play starts a scene; change may alter the configuration.
func play(t *testing.T, spec simulate.Spec, change func(*config.File)) *scene {
	t.Helper()
	if spec.Speed == 0 {
		spec.Speed = speed
	}
	spec.Name, spec.Seed = "subject", 1
	if spec.Workload.Rate == 0 {
		spec.Workload = simulate.Workload{Rate: 4, PromptTokens: 60, OutputTokens: 40}
	}
	still := simulate.Spec{Name: "bystander", Kind: simulate.KindTriton, Seed: 2, Workload: simulate.Workload{Rate: 2, OutputTokens: 20}}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: []simulate.Spec{spec, still}}}})
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	bystander := fleet.Replica("p", "bystander")
	bystander.Advance(time.Minute)
	bystander.SetRate(0)
	bystander.Advance(time.Minute)

	p := pool("p", of(t, fleet.Pools()[0].Replicas...)...)
	s := &scene{line: startLine(t, pool("empty", "nobody=127.0.0.1:1")), subject: fleet.Replica("p", "subject")}
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{p}
	if change != nil {
		change(&cfg)
	}
	cfg.Resolve()
	require.NoError(t, s.ApplyConfig(&cfg))
	const labels = `engine="triton",engine_version="2.64.0",pool_id="p",replica_id="bystander",trtllm_version="1.1.0"} 1`
	s.eventually(`llm_server_capability{capability="queue"`, `llm_server_ready{`+labels,
		`llm_server_capability{capability="health",`+labels, `llm_server_capability{capability="config",`+labels)
	// What the last answer changes is on the page of the next scrape.
	const calmFor = 3
	var since uint64
	s.until("a calm bystander of which all is known", func() bool {
		before, scrapes := s.calm, s.line.status("bystander").Scrapes
		if s.calm = s.still(s.page()); s.calm != before {
			since = scrapes
		}
		return scrapes >= since+calmFor && strings.Contains(s.calm, "llm_server_generation_tokens_total") &&
			strings.Count(s.calm, "llm_server_model_config_hash_info{") == 5
	})
	return s
}

// of are the lines of a page that speak of a replica and do not say how long
// something took.
func (*scene) of(replica, page string) string {
	var b strings.Builder
	for text := range strings.Lines(page) {
		if strings.Contains(text, `replica_id="`+replica+`"`) && !strings.HasPrefix(text, prefix) &&
			!strings.HasPrefix(text, "llm_server_health_check_duration_seconds") {
			b.WriteString(text)
		}
	}
	return b.String()
}

// still are the bystander's lines that must stay byte for byte: all but rates
// and averages, which are rightly absent when a busy machine misses a scrape.
func (s *scene) still(page string) string {
	var b strings.Builder
	for text := range strings.Lines(s.of("bystander", page)) {
		name, _, _ := strings.Cut(text, "{")
		derived := strings.HasPrefix(name, "llm_server_")
		judged := slices.Contains([]string{
			"llm_server_state", "llm_server_ready", "llm_server_live", "llm_server_model_state", "llm_server_model_info",
			"llm_server_capability", "llm_server_determinism_profile", "llm_server_model_config_hash_info",
		}, name)
		if !derived || judged || strings.HasSuffix(name, "_total") {
			b.WriteString(text)
		}
	}
	return b.String()
}

// until waits for something to happen.
func (s *scene) until(what string, holds func() bool) {
	s.t.Helper()
	s.waitFor(what, glance, func() (page, missing string) {
		if holds() {
			return "", ""
		}
		now := s.status()
		return "", fmt.Sprintf("%s (state %s, %s)", what, now.State, now.StateReason)
	})
}

// turns waits until the subject is in a state, and sees all the while that the
// bystander's part of the page stays byte for byte what it was.
func (s *scene) turns(state string) target.Status {
	s.t.Helper()
	s.until("state "+state, func() bool {
		requireSame(s.t, s.calm, s.still(s.page()))
		return s.status().State == state
	})
	s.until("state "+state+" on the page", func() bool {
		return strings.Contains(s.page(), `replica_id="subject",state="`+state+`"`) && s.value("llm_server_state", `state="`+state+`"`) == "1"
	})
	return s.status()
}

// status is the subject's.
func (s *scene) status() target.Status { return s.line.status("subject") }

// value is that of the one series of the subject with that name and
// those labels; empty when it is absent.
func (s *scene) value(name string, labels ...string) string {
	for text := range strings.Lines(s.of("subject", s.page())) {
		head, value, _ := strings.Cut(strings.TrimSpace(text), "} ")
		if strings.HasPrefix(head, name+"{") && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(head, l) }) {
			return value
		}
	}
	return ""
}

func TestAReloadOfAModel(t *testing.T) {
	t.Parallel()
	s := play(t, simulate.Spec{Kind: simulate.KindTritonPython, Loading: simulate.Loading{UnloadDuration: long, ModelLoad: long}}, nil)
	s.turns("ready")
	llm := func(state string) func() bool {
		return func() bool {
			return s.value("llm_server_model_state", `model="tensorrt_llm"`, `state="`+state+`"`) == "1"
		}
	}
	s.until("model ready", llm("ready"))
	s.until("tokens", func() bool { return s.value("llm_server_generation_tokens_total") != "" })
	s.until("its config", func() bool { return s.value("llm_server_model_info", `model="tensorrt_llm"`, `backend="python"`) != "" })
	s.subject.Unload("tensorrt_llm")
	s.until("model unloading", llm("unloading"))
	s.turns("not_ready")
	s.subject.Advance(long)
	s.until("model unavailable", llm("unavailable"))
	require.Contains(t, s.turns("unserved").StateReason, "its LLM is not loaded: tensorrt_llm")
	var page string
	s.until("nothing is derived from what is left", func() bool {
		page = s.of("subject", s.page())
		return !strings.Contains(page, "llm_server_generation_tokens_total") && !strings.Contains(page, "llm_server_requests_running")
	})
	requireText(t, page, "nv_trt_llm_request_metrics", "half of the model stays on the page")
	requireText(t, page, `nv_inference_request_failure`)
	s.until("its capability is gone", func() bool { return s.value("llm_server_capability", `capability="tokens"`) == "0" })
	require.NotEmpty(t, s.value("llm_server_model_info", `model="tensorrt_llm"`, `backend="python"`), "its last config is kept")

	tokens := s.value("nv_llm_output_token_len_sum")
	require.NotEmpty(t, tokens)
	s.subject.Load("tensorrt_llm")
	s.until("model loading", llm("loading"))
	s.subject.Advance(long)
	s.until("model ready again", llm("ready"))
	s.until("tokens again", func() bool { return s.value("llm_server_generation_tokens_total") != "" })
	requireSame(t, s.calm, s.still(s.page()))
}

func TestARolloutChangesLabelsAtOnceAndMixesNothing(t *testing.T) {
	t.Parallel()
	s := play(t, simulate.Spec{Kind: simulate.KindTriton, Loading: simulate.Loading{LoadDuration: time.Second}}, func(c *config.File) {
		// Longer than the test: only the restart itself can have made it ask.
		c.Pools[0].IdentityInterval = model.Duration(time.Hour)
	})
	s.turns("ready")
	const before, after = `engine_version="2.64.0"`, `engine_version="2.67.0"`
	s.until("tokens", func() bool { return s.value("llm_server_generation_tokens_total", before) != "" })
	s.subject.Rollout(20*time.Second, "2.67.0", "1.2.0")
	s.until("the new version with its own numbers", func() bool {
		// Read before the page: what that shows of before was so then.
		was := s.status()
		page := s.of("subject", s.page())
		old, fresh := strings.Count(page, before), strings.Count(page, after)
		require.Falsef(t, old > 0 && fresh > 0, "a page of both versions:\n%s", nearest(page, before))
		if raw := s.value("nv_inference_request_success", before, `model="ensemble"`); raw != "" && was.Failures > 0 {
			require.Equal(t, "2.64.0", was.EngineVersion)
		}
		return fresh > 0 && s.value("llm_server_generation_tokens_total", after, `trtllm_version="1.2.0"`) != ""
	})
	require.Equal(t, "2.67.0", s.status().EngineVersion)
	require.Equal(t, "1.2.0", s.status().TRTLLMVersion)
	require.Equal(t, "compatibility_table", s.status().VersionSource)
	requireSame(t, s.calm, s.still(s.page()))
}
