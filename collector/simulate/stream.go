package simulate

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// exchange is a request of an HTTP client in the executor.
type exchange struct {
	events  <-chan streamEvent // Its buffer holds all of them.
	leave   func()             // Must be called if the client leaves.
	wording uint64
}

// enter submits the request of an HTTP client; ok is false if the server rejected it.
func (r *Replica) enter(srv server, prompt string, output int) (x exchange, ok bool) {
	output = max(1, min(output, r.spec.Workload.MaxOutput))
	events := make(chan streamEvent, output+2)
	req := &request{
		prompt: promptTokens(prompt), output: output, group: -1, reason: "length",
		timing: timing{preTime: 1200 * time.Microsecond, postTime: 400 * time.Microsecond}, sink: func(e streamEvent) { events <- e },
	}
	r.locked(srv, func() {
		req.arrived = r.w.now
		r.clients.ids++
		ok = r.arrive(req)
		x.wording = r.wording(prompt)
	})
	x.events, x.leave = events, func() { r.locked(srv, func() { r.leave(req) }) }
	return x, ok
}

// leave handles a client that has left: depending on the kind of server, its request
// ends or continues to the last token.
func (r *Replica) leave(req *request) {
	req.abandoned = true
	if r.kind.abortsAbandoned && req.output > 0 {
		req.output = req.generated + 1
	}
}

// wording selects the answer to a prompt: servers of the same versions give the same
// answer, unless the replica is unsteady.
func (r *Replica) wording(prompt string) uint64 {
	seed := mix(7, prompt+r.w.spec.EngineVersion+r.w.spec.TRTLLMVersion)
	if r.w.unsteady {
		seed += r.clients.ids
	}
	return seed
}

// word returns the text of a token of an answer.
func word(wording uint64, token int) string {
	words := strings.Fields("time flows through every machine that counts tokens and keeps its queue in order while blocks are reused again slowly")
	return " " + words[(wording+uint64(token)*13)%uint64(len(words))]
}

// promptTokens estimates the length of a prompt in tokens.
func promptTokens(text string) int { return max(1, len(text)/4) }

// follow calls token for every token of the request until it ends or the client leaves.
func (x exchange) follow(req *http.Request, token func(n int, text string)) (failed, left bool) {
	for {
		select {
		case <-req.Context().Done():
			x.leave()
			return false, true
		case e := <-x.events:
			if e.done {
				return e.failed, false
			}
			token(e.token, word(x.wording, e.token))
		}
	}
}

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

// event sends a frame of JSON.
func (s streamer) event(v any) {
	text, _ := json.Marshal(v)
	s.raw("data: " + string(text) + "\n\n")
}

func (s streamer) raw(text string) {
	_, _ = io.WriteString(s.w, text)
	_ = s.c.Flush()
}

// decode reads the JSON body of a request.
func decode(req *http.Request, into any) error {
	return json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(into)
}
