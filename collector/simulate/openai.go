package simulate

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// chatPath is the path of the requests of simulated clients.
const chatPath = "/v1/chat/completions"

type chatRequest struct {
	MaxTokens           int  `json:"max_tokens"`
	MaxCompletionTokens int  `json:"max_completion_tokens"`
	Stream              bool `json:"stream"`
	Messages            []struct {
		Content string `json:"content"`
	} `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// addChat adds POST /v1/chat/completions, which streams like trtllm-serve.
func (r *Replica) addChat(mux *http.ServeMux, srv server) {
	mux.HandleFunc("POST "+chatPath, func(w http.ResponseWriter, req *http.Request) {
		var asked chatRequest
		if err := decode(req, &asked); err != nil || !asked.Stream {
			write(w, http.StatusBadRequest, object{"error": "the simulated server wants JSON with stream: true"})
			return
		}
		var prompt strings.Builder
		for _, m := range asked.Messages {
			prompt.WriteString(m.Content)
		}
		setDefault(&asked.MaxTokens, asked.MaxCompletionTokens)
		setDefault(&asked.MaxTokens, 16)
		x, ok := r.enter(srv, prompt.String(), asked.MaxTokens)
		if !ok {
			write(w, http.StatusInternalServerError, object{
				"object":  "error",
				"message": "Internal server error",
				"type":    "InternalServerError",
				"code":    500,
			})
			return
		}
		c := chat{asked, prompt.String(), r.spec.Model, time.Now().Unix(), r.kind}
		c.stream(w, req, x)
	})
}

// chat is one streamed completion.
type chat struct {
	asked   chatRequest
	prompt  string
	model   string
	created int64
	kind    software
}

func (c *chat) stream(w http.ResponseWriter, req *http.Request, x exchange) {
	out, tokens := newStreamer(w, "text/event-stream", http.StatusOK), 0
	role := func() {
		// The real servers write a space at the end of this frame.
		text, _ := json.Marshal(c.frame(object{"index": 0, "delta": object{"role": "assistant"}}))
		out.raw("data: " + string(text) + " \n\n")
	}
	if c.kind.roleFirst {
		role()
	}
	failed, left := x.follow(req, func(n int, text string) {
		if !c.kind.roleFirst && n == 1 {
			role()
		}
		tokens = n
		choice := object{"index": 0, "delta": object{"content": text}}
		if n == c.asked.MaxTokens {
			choice["finish_reason"] = "length"
		}
		out.event(c.frame(choice))
	})
	if !left {
		c.end(out, failed, tokens)
	}
}

// end writes the end of the stream.
func (c *chat) end(out streamer, failed bool, tokens int) {
	switch {
	case failed && c.kind.endsFailed:
		out.event(object{"error": object{
			"message": "EngineCore encountered an issue. See stack trace (above) for " +
				"the root cause.", "type": "InternalServerError", "param": nil, "code": 500,
		}})
	case failed:
		panic(http.ErrAbortHandler)
	case c.asked.StreamOptions.IncludeUsage:
		f, prompt := c.frame(), promptTokens(c.prompt)
		f["usage"] = object{"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
		out.event(f)
	}
	out.raw("data: [DONE]\n\n")
}

func (c *chat) frame(choices ...object) object {
	if choices == nil {
		choices = []object{} // Not null.
	}
	id := "chatcmpl-" + strconv.FormatUint(mix(1, c.prompt)%1e6, 10)
	return object{
		"id":      id,
		"object":  "chat.completion.chunk",
		"created": c.created,
		"model":   c.model,
		"choices": choices,
	}
}

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
		timing: timing{
			preTime:  1200 * time.Microsecond,
			postTime: 400 * time.Microsecond,
		}, sink: func(e streamEvent) { events <- e },
	}
	r.locked(srv, func() {
		req.arrived = r.w.now
		ok = r.arrive(req)
		x.wording = r.wording(prompt)
	})
	x.events, x.leave = events, func() { r.locked(srv, func() { r.leave(req) }) }
	return x, ok
}

// leave ends the request of a client that has left, if this kind of server does.
func (r *Replica) leave(req *request) {
	req.abandoned = true
	if r.kind.abortsAbandoned && req.output > 0 {
		req.output = req.generated + 1
	}
}

// wording selects the answer to a prompt: the same by the same versions.
func (r *Replica) wording(prompt string) uint64 {
	return mix(7, prompt+r.w.spec.EngineVersion+r.w.spec.TRTLLMVersion)
}

// word returns the text of a token of an answer.
func word(wording uint64, token int) string {
	words := strings.Fields("time flows through every machine that counts tokens and keeps its queue in order " +
		"while blocks are reused again slowly")
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
