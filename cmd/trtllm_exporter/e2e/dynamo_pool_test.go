//go:build e2e_dynamo && linux

package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDynamoPool has a pool with a frontend with the KV router and two workers: each quantity
// counts once.
func TestDynamoPool(t *testing.T) {
	d := newDeployment(t)
	d.frontend.start(t, "--router-mode", "kv")
	d.worker.start(t)
	d.second.start(t)
	e := startConfigured(t, configured(dynamoInterval, "", pool("p", map[string]string{
		"f0": d.frontend.address(),
		"w0": d.worker.address(),
		"w1": d.second.address(),
	}, "identity_interval: 2s")))
	l := watch(t, e, d.frontend)
	var begun int
	l.plays(
		step{
			name: "a frontend with two workers is ready",
			says: is("ready", keep, "").of("f0"),
			then: acts{d.warm, d.spread},
		},
		step{name: "what waits is counted once", does: acts{waitsOnce}},
		step{name: "client errors match the client's count", does: acts{d.mistakes}},
		step{name: "failures without workers match the client's count", does: acts{d.workless}},
		step{
			name: "a frontend with a worker again is ready",
			does: acts{launch(d.worker), serve(d.worker), d.warm}, // Earlier failures count until a request succeeds.
			says: is("ready", keep, "").of("f0"),
			then: acts{func(*life) { begun = len(e.history(t, "f0")) }},
		},
		step{
			name: "a stopping frontend with a request drains",
			does: acts{load(1, 3, 3000), running(1, "tier", "worker"), terminate(d.frontend)},
			says: is("draining", avoid, "").of("f0"),
		},
		step{
			name: "then it is down",
			says: is("down", avoid, "").of("f0"),
		},
	)
	// The page of one that stops shows no workers, and may come before the answer that it drains.
	states := slices.DeleteFunc(e.history(t, "f0")[begun:], func(state string) bool { return state == "not_ready" })
	require.Equal(t, []string{"draining", "down"}, states, "states of a stopping frontend")
}

func waitsOnce(l *life) {
	load(bothRun+bothWait, 3, 2*bothTokens)(l)
	l.shows(
		has(bothRun, "llm_server_requests_running", "tier", "worker"),
		has(bothWait, "llm_server_queue_depth", "tier", "frontend"),
		lacks("llm_server_kv_cache_utilization_ratio", "replica_id", "f0"), // Its router knows blocks of prompts only.
		above(0, "llm_server_kv_cache_utilization_ratio", "tier", "worker"),
		some("llm_server_inter_token_latency_seconds_count", "replica_id", "w0"),
	)
	var fleet struct {
		Pools []struct {
			Waiting *float64 `json:"waiting"`
		} `json:"pools"`
	}
	within(l.t, patience, "the page of the fleet adds one tier up", func() bool {
		require.NoError(l.t, json.Unmarshal(l.exporter.body(l.t, "/?format=json"), &fleet))
		return fleet.Pools[0].Waiting != nil && *fleet.Pools[0].Waiting == bothWait
	})
	complete(l)
}

// post sends a body to the frontend, and returns the status of the answer.
func (d *deployment) post(t *testing.T, path, kind, body string) int {
	t.Helper()
	response, err := send(t.Context(), http.MethodPost, d.frontend.url(path), kind, body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// ended returns the number of ended requests of a class since a page, according to the frontend.
func ended(before page, n int, class string) value {
	return before.more(n, "llm_server_requests_total", "tier", "frontend", "class", class)
}

func (d *deployment) mistakes(l *life) {
	const asJSON, chat = "application/json", "/v1/chat/completions"
	before := allCounted(l)
	for _, c := range []struct {
		status     int
		path, kind string
		body       string
	}{
		{http.StatusBadRequest, chat, asJSON, `{`},
		{http.StatusBadRequest, chat, asJSON, ``},
		{http.StatusBadRequest, chat, asJSON, `{"model":"tiny-llama"}`},
		{http.StatusBadRequest, chat, asJSON, `{"model":"tiny-llama","messages":[]}`},
		{
			http.StatusBadRequest, chat, asJSON,
			`{"model":"tiny-llama","messages":[{"role":"user","content":"w1"}],"max_tokens":0}`,
		},
		{http.StatusUnsupportedMediaType, chat, "text/plain", `{}`},
		{http.StatusNotFound, chat, asJSON, `{"model":"other","messages":[{"role":"user","content":"w1"}]}`},
		{http.StatusNotFound, chat, asJSON, `{"model":"other","messages":[{"role":"user","content":"w1"}]}`},
		// It is not a request to a model.
		{http.StatusNotFound, "/v1/nowhere", asJSON, `{}`},
	} {
		require.Equal(l.t, c.status, d.post(l.t, c.path, c.kind, c.body), "%s: %s", c.path, c.body)
	}
	const mistakes = 5 + 1 + 2
	l.shows(ended(before, mistakes, "client"))
	l.exporter.renewed(l.t).requires(l.t, ended(before, mistakes, "client"), ended(before, 0, "server"))
}

// workless kills both workers, and counts what fails from then on.
func (d *deployment) workless(l *life) {
	before, begun := l.page(), len(l.exporter.history(l.t, "f0"))
	open := d.frontend.crowd(l.t, 4, request{words: 3, tokens: 2000})
	running(4, "tier", "worker")(l)
	d.worker.kill(l.t)
	d.second.kill(l.t)
	open.wait()
	failed := len(open.errs)
	for _, seen := range open.seen {
		if seen.failed() {
			failed++
		}
	}
	for range 24 {
		const short = `{"model":"tiny-llama","prompt":"w1","max_tokens":2}`
		status := d.post(l.t, "/v1/completions", "application/json", short)
		switch status {
		case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError:
			failed++
		default:
			require.Equal(l.t, http.StatusNotFound, status, "the model is withdrawn, which nobody counts")
		}
		pause(l.t.Context(), dynamoInterval/2)
	}
	p := l.shows(ended(before, failed, "server"))
	for _, series := range p.named("llm_server_requests_migrated_total") {
		require.Equal(l.t, "failure", series.labels.Get("outcome"), "no migration is allowed")
	}
	// The frontend lists the model of dead workers again for a second out of five, until their leases end.
	states := l.exporter.history(l.t, "f0")[begun:]
	failing := slices.Index(states, "failing")
	require.GreaterOrEqual(l.t, failing, 0, "states of a frontend without workers: %v", states)
	require.Len(l.t, states, failing+1, "states of one trouble: %v", states)
	require.Subset(l.t, []string{"ready", "not_ready"}, states[:failing])
}
