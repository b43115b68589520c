package simulate

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// openAI is Triton's OpenAI frontend: the page and the health of a Triton on one
// port, without any /v2 route.
func (t *triton) openAI(r *Replica) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var body []byte
		r.locked(t, func() {
			if !t.w.emptyPage {
				body = t.page()
			}
		})
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeBody(w, http.StatusOK, body)
	})
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusOK
		r.locked(t, func() { status = t.ready() })
		if status != http.StatusOK {
			writeJSON(w, status, object{"detail": "Attached inference engine is not ready for inference requests."})
			return
		}
		writeBody(w, status, nil)
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		var names []string
		var seen time.Time
		r.locked(t, func() {
			t.each(func(m *model, _ string) { names = append(names, m.name) })
			seen = t.w.start.Add(t.w.up)
		})
		writeJSON(w, http.StatusOK, modelList(seen.Unix(), "Triton Inference Server", names...))
	})
	mux.Handle("POST /v1/completions", openAICompletions(r, t, false))
	mux.Handle("POST /v1/chat/completions", openAICompletions(r, t, true))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, object{"detail": "Not Found"})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Server", "uvicorn")
		mux.ServeHTTP(w, req)
	})
}

type completionRequest struct {
	Model               string `json:"model"`
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

// openAICompletions streams /v1/completions or /v1/chat/completions the way
// trtllm-serve does; the Triton frontend's role frame comes before the first token.
func openAICompletions(r *Replica, srv server, chat bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var asked completionRequest
		if err := json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(&asked); err != nil {
			writeJSON(w, http.StatusBadRequest, object{"error": err.Error()})
			return
		}
		if !asked.Stream {
			writeJSON(w, http.StatusBadRequest, object{"error": "the simulated server only streams"})
			return
		}
		for _, m := range asked.Messages {
			asked.Prompt += m.Content
		}
		setDefault(&asked.MaxTokens, asked.MaxCompletionTokens)
		setDefault(&asked.MaxTokens, 16)
		prompt := promptTokens(asked.Prompt)
		events, leave, ok := r.enter(srv, prompt, asked.MaxTokens)
		if !ok {
			writeJSON(w, http.StatusInternalServerError, object{"object": "error", "message": "Internal server error", "type": "InternalServerError", "code": 500})
			return
		}
		a := answer{chat: chat, model: r.spec.Model, asked: asked, prompt: prompt, created: time.Now().Unix(), wording: r.wording(asked.Prompt)}
		a.stream(w, req, events, leave, srv)
	})
}

// answer is one completion on its way to the client.
type answer struct {
	chat    bool
	model   string
	asked   completionRequest
	prompt  int
	created int64
	tokens  int
	wording uint64
}

func (a *answer) frame(choices []object) object {
	id, kind := "cmpl-", "text_completion"
	if a.chat {
		id, kind = "chatcmpl-", "chat.completion.chunk"
	}
	return object{"id": id + itoa(int(mix(1, a.asked.Prompt)%1e6)), "object": kind, "created": a.created, "model": a.model, "choices": choices}
}

func (a *answer) usage() object {
	return object{"prompt_tokens": a.prompt, "completion_tokens": a.tokens, "total_tokens": a.prompt + a.tokens}
}

func (a *answer) choice(text string, last bool) []object {
	c := object{"index": 0}
	if a.chat {
		c["delta"] = object{"content": text}
	} else {
		c["text"] = text
	}
	if last {
		c["finish_reason"] = "length"
	}
	return []object{c}
}

func (a *answer) stream(w http.ResponseWriter, req *http.Request, events <-chan streamEvent, leave func(), srv server) {
	out := newStreamer(w, "text/event-stream", http.StatusOK)
	role := func() {
		if text, err := json.Marshal(a.frame([]object{{"index": 0, "delta": object{"role": "assistant"}}})); err == nil {
			out.raw("data: " + string(text) + " \n\n")
		}
	}
	_, early := srv.(*triton)
	if a.chat && early {
		role()
	}
	failed, err := follow(req, events, leave, func(n int) {
		if a.chat && !early && n == 1 {
			role()
		}
		a.tokens = n
		out.event(a.frame(a.choice(word(a.wording, n), n == a.asked.MaxTokens)))
	})
	if err != nil {
		return
	}
	if failed {
		// The connection just ends: no error frame and no [DONE].
		panic(http.ErrAbortHandler)
	}
	if a.asked.StreamOptions.IncludeUsage {
		f := a.frame([]object{})
		f["usage"] = a.usage()
		out.event(f)
	}
	out.raw("data: [DONE]\n\n")
}
