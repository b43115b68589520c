package simulate

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// completions adds the routes of OpenAI's API, which stream the way trtllm-serve
// does.
func (r *Replica) completions(mux *http.ServeMux, srv server) {
	mux.Handle("POST /v1/completions", r.completion(srv, false))
	mux.Handle("POST /v1/chat/completions", r.completion(srv, true))
}

type completionRequest struct {
	Prompt              string `json:"prompt"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	Stream              bool   `json:"stream"`
	Messages            []struct {
		Content string `json:"content"`
	} `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r *Replica) completion(srv server, chat bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var asked completionRequest
		if err := decode(req, &asked); err != nil {
			write(w, http.StatusBadRequest, object{"error": err.Error()})
			return
		}
		if !asked.Stream {
			write(w, http.StatusBadRequest, object{"error": "the simulated server only streams"})
			return
		}
		for _, m := range asked.Messages {
			asked.Prompt += m.Content
		}
		setDefault(&asked.MaxTokens, asked.MaxCompletionTokens)
		setDefault(&asked.MaxTokens, 16)
		x, ok := r.enter(srv, asked.Prompt, asked.MaxTokens)
		if !ok {
			write(w, http.StatusInternalServerError, object{"object": "error", "message": "Internal server error", "type": "InternalServerError", "code": 500})
			return
		}
		c := completion{chat, r.spec.Model, asked, time.Now().Unix()}
		c.stream(w, req, x, r.kind.roleFirst)
	})
}

// completion is one completion on its way to the client.
type completion struct {
	chat    bool
	model   string
	asked   completionRequest
	created int64
}

func (c *completion) stream(w http.ResponseWriter, req *http.Request, x exchange, roleFirst bool) {
	out, tokens := newStreamer(w, "text/event-stream", http.StatusOK), 0
	role := func() {
		// The real servers have a space at the end of this frame.
		text, _ := json.Marshal(c.frame([]object{{"index": 0, "delta": object{"role": "assistant"}}}))
		out.raw("data: " + string(text) + " \n\n")
	}
	if c.chat && roleFirst {
		role()
	}
	failed, err := x.follow(req, func(n int, text string) {
		if c.chat && !roleFirst && n == 1 {
			role()
		}
		tokens = n
		out.event(c.frame(c.choice(text, n == c.asked.MaxTokens)))
	})
	if err != nil {
		return
	}
	if failed {
		// The connection just ends: no error frame and no [DONE].
		panic(http.ErrAbortHandler)
	}
	if c.asked.StreamOptions.IncludeUsage {
		f, prompt := c.frame([]object{}), promptTokens(c.asked.Prompt)
		f["usage"] = object{"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
		out.event(f)
	}
	out.raw("data: [DONE]\n\n")
}

func (c *completion) frame(choices []object) object {
	id, kind := "cmpl-", "text_completion"
	if c.chat {
		id, kind = "chatcmpl-", "chat.completion.chunk"
	}
	id += strconv.FormatUint(mix(1, c.asked.Prompt)%1e6, 10)
	return object{"id": id, "object": kind, "created": c.created, "model": c.model, "choices": choices}
}

func (c *completion) choice(text string, last bool) []object {
	choice := object{"index": 0, "text": text}
	if c.chat {
		choice = object{"index": 0, "delta": object{"content": text}}
	}
	if last {
		choice["finish_reason"] = "length"
	}
	return []object{choice}
}
