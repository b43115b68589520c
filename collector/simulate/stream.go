package simulate

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// enter brings a request of a real HTTP client into the executor. Events come
// on the channel, which has room for all of them; leave tells that the client
// has gone, and a false ok that the server turned the request away.
func (r *Replica) enter(srv server, prompt, output int) (events <-chan streamEvent, leave func(), ok bool) {
	output = max(1, min(output, r.spec.Workload.MaxOutput))
	ch := make(chan streamEvent, output+2)
	var req *request
	r.locked(srv, func() {
		r.clients.ids++
		req = &request{
			id: r.clients.ids, arrived: r.w.now, prompt: max(1, prompt), output: output, group: -1, reason: "length",
			preTime: preTime, postTime: postTime, sink: func(e streamEvent) { ch <- e },
		}
		ok = r.arrive(req)
	})
	leave = func() {
		r.locked(srv, func() { r.leave(req) })
	}
	return ch, leave, ok
}

// leave books a client that has gone. Triton goes on to the last token, as seen;
// trtllm-serve aborts the request.
func (r *Replica) leave(req *request) {
	req.abandoned = true
	if _, isServe := r.w.server.(*serve); isServe && req.output > 0 {
		req.output = req.generated + 1
	}
}

const (
	preTime  = 1200 * 1000 // Of a request by hand, in nanoseconds.
	postTime = 400 * 1000
)

// wording decides what the answer to a prompt says: the same prompt gives the
// same answer, of a server with the same versions. An unsteady replica answers
// in other words each time.
func (r *Replica) wording(prompt string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	seed := mix(7, prompt+r.w.spec.EngineVersion+r.w.spec.TRTLLMVersion)
	if r.w.unsteady {
		seed += r.clients.ids
	}
	return seed
}

// word is the text of a token at its place in an answer.
func word(wording uint64, token int) string {
	words := []string{
		"time", "flows", "through", "every", "machine", "that", "counts", "tokens", "and", "keeps", "its", "queue",
		"in", "order", "while", "blocks", "are", "reused", "again", "slowly",
	}
	return " " + words[(wording+uint64(token)*13)%uint64(len(words))]
}

// promptTokens guesses a prompt's length in tokens.
func promptTokens(text string) int { return max(1, len(text)/4) }

// streamer writes server-sent events.
type streamer struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newStreamer(w http.ResponseWriter, contentType string, status int) streamer {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	return streamer{w, http.NewResponseController(w)}
}

func (s streamer) event(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	s.raw("data: " + string(text) + "\n\n")
}

func (s streamer) raw(text string) {
	// A client that left is noticed by its context.
	_, _ = io.WriteString(s.w, text)
	_ = s.c.Flush()
}

// errGone says that the client has left or the server has died.
var errGone = errors.New("client has gone")

// follow calls token for every token of a request until it ends.
func follow(req *http.Request, events <-chan streamEvent, leave func(), token func(n int)) (failed bool, err error) {
	for {
		select {
		case <-req.Context().Done():
			leave()
			return false, errGone
		case e := <-events:
			if e.done {
				return e.failed, nil
			}
			token(e.token)
		}
	}
}

// generate is Triton's POST /v2/models/M/generate_stream: a decoupled model
// streams, another answers in one frame.
func (t *triton) generate(r *Replica) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := req.PathValue("model")
		asked, ok := t.generateInput(r, w, req)
		if !ok {
			return
		}
		events, leave, ok := r.enter(t, promptTokens(asked.Text), asked.MaxTokens)
		if !ok {
			t.turnedAway(r, w)
			return
		}
		wording := r.wording(asked.Text)
		frame := func(text string) object {
			return object{"model_name": name, "model_version": "1", "sequence_end": false, "sequence_id": 0, "sequence_start": false, "text_output": text}
		}
		var all strings.Builder
		var out streamer
		token := func(n int) { all.WriteString(word(wording, n)) }
		if asked.decoupled {
			out = newStreamer(w, "text/event-stream; charset=utf-8", http.StatusOK)
			token = func(n int) { out.event(frame(word(wording, n))) }
		}
		failed, err := follow(req, events, leave, token)
		switch {
		case err != nil:
		case failed && asked.decoupled:
			out.event(apiError{"in ensemble 'ensemble', Executor error"})
		case failed:
			t.turnedAway(r, w)
		case !asked.decoupled:
			newStreamer(w, "text/event-stream; charset=utf-8", http.StatusOK).event(frame(all.String()))
		}
	})
}

type generateRequest struct {
	Text      string `json:"text_input"`
	MaxTokens int    `json:"max_tokens"`
	// The llmapi model has its own name for it, the vLLM backend a text of JSON.
	SamplingMaxTokens  int    `json:"sampling_param_max_tokens"`
	SamplingParameters string `json:"sampling_parameters"`
	decoupled          bool
}

// generateInput checks a request before inference: an unknown model is 404, a
// missing input 400.
func (t *triton) generateInput(r *Replica, w http.ResponseWriter, req *http.Request) (asked generateRequest, ok bool) {
	known := false
	r.locked(t, func() {
		if m := t.byName(req.PathValue("model")); m != nil && m.state == modelReady {
			known, asked.decoupled = true, m.decoupled
		}
	})
	if !known {
		writeError(w, http.StatusNotFound, "Request for unknown model: '"+req.PathValue("model")+"' is not found")
		return asked, false
	}
	if err := json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(&asked); err != nil || asked.Text == "" {
		writeError(w, http.StatusBadRequest, "expected 2 inputs but got 0 inputs for model '"+req.PathValue("model")+"'")
		return asked, false
	}
	setDefault(&asked.MaxTokens, asked.SamplingMaxTokens)
	if asked.SamplingParameters != "" {
		_ = json.Unmarshal([]byte(asked.SamplingParameters), &asked) // What is not there stays unset.
	}
	setDefault(&asked.MaxTokens, 16)
	return asked, true
}

// turnedAway answers a request that failed: dead stubs give 400, the lack of a
// model 503.
func (t *triton) turnedAway(r *Replica, w http.ResponseWriter) {
	failing := false
	r.locked(t, func() { failing = t.w.failing })
	status, text := http.StatusServiceUnavailable, "Exceeds maximum queue size"
	if failing {
		status, text = http.StatusBadRequest, "in ensemble 'ensemble', Failed to process the request(s) for model 'preprocessing_0_0', message: Stub process 'preprocessing_0_0' is not healthy."
	}
	newStreamer(w, "text/event-stream; charset=utf-8", status).event(apiError{text})
}
