//go:build e2e_live

package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// rolled is the pool whose replicas get another version, one after the other.
const rolled = "rolled"

// length is how long the fleet is watched: LIVE_CALM, or 25 minutes.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("LIVE_CALM")
	if text == "" {
		return 25 * time.Minute
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "LIVE_CALM")
	return d
}

// healthyFleet is a pool of every kind of server, one of several kinds, and one
// that is rolled out.
func healthyFleet() simulate.FleetSpec {
	work := simulate.Workload{Rate: 2, PromptTokens: 200, OutputTokens: 80, Spread: 0.5, SharedPrefix: 0.6, PrefixTokens: 128, AbandonRate: 0.01}
	seed := uint64(0)
	replicas := func(pool string, kinds ...simulate.Kind) simulate.PoolSpec {
		p := simulate.PoolSpec{Name: pool}
		for i, kind := range kinds {
			seed++
			p.Replicas = append(p.Replicas, simulate.Spec{
				Name: fmt.Sprintf("%s-%d", pool, i), Kind: kind, Seed: seed, Speed: 1, GPUs: 1, Model: "mistral", Streaming: true, Setup: simulate.Setup{Histograms: true},
				Workload: work, Engine: simulate.Engine{MaxActive: 32, KVBlocks: 2400, TokensPerBlock: 32},
			})
		}
		return p
	}
	var spec simulate.FleetSpec
	for _, kind := range everyKind() {
		spec.Pools = append(spec.Pools, replicas("of-"+string(kind), kind, kind))
	}
	triton := replicas(rolled, simulate.KindTriton, simulate.KindTriton, simulate.KindTriton, simulate.KindTriton)
	for i := range triton.Replicas {
		triton.Replicas[i].EngineVersion, triton.Replicas[i].TRTLLMVersion, triton.Replicas[i].LoadDuration = "2.64.0", "1.1.0", 40*time.Second
	}
	spec.Pools = append(spec.Pools, replicas(kindsPool, kindsOfPool()...), triton)
	return spec
}

// everyKind are the servers there are.
func everyKind() []simulate.Kind {
	return []simulate.Kind{
		simulate.KindTriton, simulate.KindTritonPython, simulate.KindTritonLLMAPI, simulate.KindTritonLLMAPIModule, simulate.KindTritonCore,
		simulate.KindTritonVLLM, simulate.KindTritonOpenAI, simulate.KindServe, simulate.KindServeGen2,
		simulate.KindServeOld, simulate.KindNIM, simulate.KindDynamo, simulate.KindVLLM, simulate.KindSGLang,
	}
}

// healthyConfig asks of each pool what its servers can say: as many replicas as
// there are, the canary, and objectives where they are measured.
func healthyConfig(fleet *simulate.Fleet) string {
	var b strings.Builder
	b.WriteString("pools:\n")
	for _, pool := range fleet.Pools() {
		fmt.Fprintf(&b, "  - pool_id: %s\n    expect: { replicas: %d }\n", pool.Name, len(pool.Replicas))
		switch pool.Replicas[0].Spec().Kind {
		case simulate.KindDynamo, simulate.KindTritonCore: // A worker, and a Triton without an LLM, answer no such requests.
		default:
			b.WriteString("    canary: { enabled: true, interval: 30s }\n")
		}
		switch pool.Name {
		case rolled, kindsPool:
			b.WriteString("    slo: { ttft: { le: 5s, objective: 0.9 } }\n")
		case "of-" + string(simulate.KindVLLM), "of-" + string(simulate.KindServe):
			b.WriteString("    slo: { ttft: { le: 2500ms, objective: 0.95 }, tpot: { le: 100ms, objective: 0.9 }, e2e: { le: 40s, objective: 0.95 } }\n")
		case "of-" + string(simulate.KindTriton):
			b.WriteString("    slo: { ttft: { le: 5s, objective: 0.9 }, availability: { objective: 0.995 } }\n")
		}
		if pool.Name == kindsPool {
			b.WriteString(modelIDs)
		}
		b.WriteString(targets(pool))
	}
	return b.String()
}

// TestAHealthyFleetIsSilent runs what is shipped, unchanged: a fleet of every kind
// of server with a rollout and a restart of the exporter, and the demo.
func TestAHealthyFleetIsSilent(t *testing.T) {
	t.Parallel()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	t.Run("a fleet of every kind", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, setting{fleet: healthyFleet(), config: healthyConfig, command: []string{"serve"}, values: v})
		s.watched(t, length(t),
			event{0.3, "a rollout", func() { s.rollout(t) }},
			event{0.7, "a restart of the exporter", func() {
				s.process.exporter.end(t)
				s.process.exporter.begin(t)
			}})
	})
	t.Run("the demo", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, setting{command: []string{"demo", "--calm", "--mixed"}, values: v})
		s.watched(t, length(t))
	})
}

// rollout gives the replicas of a pool another version, each when the one before
// serves again.
func (s *stack) rollout(t *testing.T) {
	t.Helper()
	for _, pool := range s.fleet.Pools() {
		for _, r := range pool.Replicas {
			if pool.Name == rolled {
				r.Rollout(5*time.Second, "2.65.0", "1.2.0")
				within(t, 2*time.Minute, r.Name()+" serves again", func() bool { return r.Truth().Phase == simulate.PhaseServing })
			}
		}
	}
}

// event is something that happens after a share of the time.
type event struct {
	after float64
	name  string
	do    func()
}

// watched lets time pass and things happen, and wants nothing to have fired in it
// and all replicas to be well at its end.
func (s *stack) watched(t *testing.T, length time.Duration, events ...event) {
	t.Helper()
	began := time.Now()
	for _, e := range events {
		pause(t, time.Duration(e.after*float64(length))-time.Since(began))
		t.Logf("%s after %s", e.name, time.Since(began).Round(time.Second))
		e.do()
	}
	pause(t, length-time.Since(began))
	window := time.Since(began).Round(time.Second).String()
	seen := func(state string) []string {
		var all []string
		for _, a := range s.query(t, `count_over_time(ALERTS{alertstate="`+state+`"}[`+window+`])`) {
			all = append(all, a["alertname"]+" of "+a["pool_id"]+" "+a["replica_id"])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	t.Logf("%s; pending for a while: %s", window, strings.Join(seen("pending"), ", "))
	require.Empty(t, seen("firing"))
	require.Empty(t, s.hook.all())
	s.healthyRules(t)
	require.Positive(t, s.one(t, `count(llm_server_state{state="ready"} == 1)`))
	require.Empty(t, s.query(t, `llm_server_state{state="ready"} == 0`))
}
