//go:build e2e_dynamo && linux

package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDynamo(t *testing.T) {
	d := newDeployment(t)
	d.frontend.start(t)
	l := watch(t, startConfigured(t, configured(dynamoInterval, "", d.pools()...)), d.frontend)
	l.plays(
		step{
			name: "an empty frontend that reports healthy is not ready, and a worker that was never there is unknown",
			says: is("not_ready", avoid, "no worker").of("f0").
				and(is("unknown", avoid, "nothing listens, and this exporter has never seen it up").of("w0")),
			then: acts{d.healthy, shows(
				has(1, "trtllm_exporter_target_up", "replica_id", "f0"),
				has(0, "llm_server_ready", "replica_id", "f0"),
				has(1, "llm_server_live", "replica_id", "f0"),
				some("dynamo_component_uptime_seconds", "engine", "dynamo", "pool_id", "frontends", "replica_id", "f0"),
			)},
		},
		step{
			name: "a serving worker that reports notready is ready, and so is its frontend",
			does: acts{launch(d.worker), serve(d.worker)},
			says: is("ready", keep, "generate is ready").of("w0").
				and(is("ready", keep, "").of("f0")),
			then: acts{
				answering(d.worker, "/health", http.StatusServiceUnavailable, 0),
				shows(has(1, "llm_server_ready", "replica_id", "w0")),
			},
		},
		step{
			name: "tokens equal those of the client",
			does: acts{d.warm, d.tokens},
		},
		step{name: "a frontend's canary succeeds", does: acts{d.canary}},
		step{
			name: "another worker is ready",
			does: acts{launch(d.second), serve(d.second)},
			says: is("ready", keep, "").of("w1"),
		},
		step{
			name: "two workers and their frontend add up",
			does: acts{d.spread, both},
		},
		step{
			name: "a killed worker is down, while another one serves",
			does: acts{kill(d.second, "")},
			says: is("down", avoid, "nothing listens any more").of("w1").
				and(is("ready", keep, "").of("f0")),
			then: acts{d.warm},
		},
		step{
			name: "a killed last worker is down, and its frontend, which reports healthy, not ready",
			does: acts{kill(d.worker, "")},
			says: is("down", avoid, "nothing listens any more").of("w0").
				and(is("not_ready", avoid, "").of("f0")),
			then: acts{d.healthy, shows(has(0, "trtllm_exporter_target_up", "replica_id", "w0"))},
		},
		step{
			name: "both are ready with the next worker",
			does: acts{launch(d.worker), serve(d.worker)},
			says: is("ready", keep, "").of("w0").
				and(is("ready", keep, "").of("f0")),
		},
		step{
			name: "a frozen worker is down, and its frontend, which reports healthy, not ready",
			does: acts{d.warm, load(2, 3, 2000), running(2, "tier", "worker"), freeze(d.worker, "")},
			says: is("down", avoid, "timeout").of("w0").
				and(is("not_ready", avoid, "").of("f0")),
			// Nothing old is shown as new.
			then: acts{d.healthy, shows(lacks("llm_server_requests_running", "replica_id", "w0")), leave},
		},
		step{
			name: "a killed frontend is down",
			does: acts{kill(d.frontend, "")},
			says: is("down", avoid, "nothing listens any more").of("f0"),
		},
	)
}

// tokens requires that everything of some requests is counted at the frontend.
func (d *deployment) tokens(l *life) {
	const requests, words, tokens = 5, 3, 40
	identity := []string{"engine", "dynamo", "pool_id", "frontends", "replica_id", "f0", "model_id", tinyLlama}
	before := allCounted(l)
	d.frontend.crowd(l.t, requests, request{words: words, tokens: tokens}).requireComplete(l.t)
	p := l.shows(
		before.more(requests*tokens, "llm_server_generation_tokens_total", identity...),
		before.more(requests*words, "llm_server_prompt_tokens_total", identity...),
		before.more(requests, "llm_server_time_to_first_token_seconds_count", identity...),
		before.more(requests, "llm_server_request_generation_tokens_count", identity...),
	)
	for _, replica := range []string{"f0", "w0"} {
		for _, series := range p.named("llm_server_state", "replica_id", replica) {
			require.Equal(l.t, "dynamo", series.labels.Get("engine"), series.labels)
		}
	}
}

// canary has canaries of all parts, of which only the frontend gets requests.
func (d *deployment) canary(l *life) {
	const canary = "canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, max_tokens: 5 }"
	e := startConfigured(l.t, configured(dynamoInterval, "", d.pools(canary)...))
	e.shows(
		l.t,
		has(2, "llm_server_canary_requests_total", "result", "ok"),
		has(1, "llm_server_canary_success", "replica_id", "f0", "model_id", tinyLlama),
		has(5, "llm_server_canary_tokens"), // As in the frontend's usage.
		has(0, "llm_server_canary_active", "replica_id", "w0"),
		has(1, "llm_server_canary_active", "replica_id", "f0"),
		above(0, "llm_server_canary_time_to_first_token_seconds"),
	)
}

// The number of requests to two workers at once is more than both accept.
const bothRun, bothWait, bothTokens = 2 * dynamoSlots, 8, 250

// both requires that quantities of two workers come from one tier and are sums.
func both(l *life) {
	const leaving, tokens = 4, "llm_server_generation_tokens_total"
	frontend, worker := []string{"tier", "frontend"}, []string{"tier", "worker"}
	before := allCounted(l)
	load(bothRun+bothWait, 3, bothTokens)(l)
	l.shows(
		has(bothRun, "llm_server_requests_running", worker...),
		has(bothWait, "llm_server_queue_depth", worker...),
		lacks("llm_server_queue_depth", "replica_id", "f0"), // Without the KV router it knows no places.
	)
	complete(l)
	load(leaving, 3, 8*bothTokens)(l)
	firstTokens := before.more(bothRun+bothWait+leaving, "llm_server_time_to_first_token_seconds_count", frontend...)
	l.shows(has(leaving, "llm_server_requests_running", worker...), firstTokens)
	leave(l)
	l.shows(
		ended(before, bothRun+bothWait, "ok"),
		ended(before, leaving, "canceled"),
		ended(before, 0, "server"),
		firstTokens,
		// Tokens of abandoned streams count until the disconnect.
		above(before.sum(tokens, frontend...)+(bothRun+bothWait)*bothTokens, tokens, frontend...),
	)
}
