package simulate

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// exchange is a request of a real HTTP client that is in the executor.
type exchange struct {
	events  <-chan streamEvent // With room for all of them.
	leave   func()             // Says that the client has gone.
	wording uint64
}

// enter brings a request of a real HTTP client into the executor; a false ok says
// that the server turned it away.
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

// leave books a client that has gone: its request ends, or goes on to the last
// token, as the kind of server has it.
func (r *Replica) leave(req *request) {
	req.abandoned = true
	if r.kind.abortsAbandoned && req.output > 0 {
		req.output = req.generated + 1
	}
}

// wording decides what the answer to a prompt says: the same prompt gives the
// same answer, of a server with the same versions. An unsteady replica answers
// in other words each time.
func (r *Replica) wording(prompt string) uint64 {
	seed := mix(7, prompt+r.w.spec.EngineVersion+r.w.spec.TRTLLMVersion)
	if r.w.unsteady {
		seed += r.clients.ids
	}
	return seed
}

// word is the text of a token at its place in an answer.
func word(wording uint64, token int) string {
	words := strings.Fields("time flows through every machine that counts tokens and keeps its queue in order while blocks are reused again slowly")
	return " " + words[(wording+uint64(token)*13)%uint64(len(words))]
}

// promptTokens guesses a prompt's length in tokens.
func promptTokens(text string) int { return max(1, len(text)/4) }

// follow calls token for every token of the request until it ends or the client
// has gone.
func (x exchange) follow(req *http.Request, token func(n int, text string)) (failed, gone bool) {
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
	// What is sent is made here and can always be encoded.
	text, _ := json.Marshal(v)
	s.raw("data: " + string(text) + "\n\n")
}

func (s streamer) raw(text string) {
	// A client that left is noticed by its context.
	_, _ = io.WriteString(s.w, text)
	_ = s.c.Flush()
}

// decode reads the JSON body of a request.
func decode(req *http.Request, into any) error {
	return json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(into)
}
