package simulate

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, req *http.Request) {
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
			write(w, http.StatusInternalServerError, object{"object": "error", "message": "Internal server error", "type": "InternalServerError", "code": 500})
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
			"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", "type": "InternalServerError", "param": nil, "code": 500,
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
	return object{"id": id, "object": "chat.completion.chunk", "created": c.created, "model": c.model, "choices": choices}
}
