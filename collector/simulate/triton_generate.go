package simulate

import (
	"encoding/json"
	"net/http"
	"strings"
)

const eventStream = "text/event-stream; charset=utf-8"

type generateRequest struct {
	Text      string `json:"text_input"`
	MaxTokens int    `json:"max_tokens"`
	// The llmapi model has another name, the vLLM backend has JSON as text.
	SamplingMaxTokens  int    `json:"sampling_param_max_tokens"`
	SamplingParameters string `json:"sampling_parameters"`
}

// generate answers generate_stream: a decoupled model streams, another sends one frame.
func (t *triton) generate(r *Replica) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked, decoupled, ok := t.readRequest(r, w, req)
		if !ok {
			return
		}
		x, ok := r.enter(t, asked.Text, asked.MaxTokens)
		if !ok {
			t.reject(r, w)
			return
		}
		frame := func(text string) object {
			return object{
				"model_name": req.PathValue("model"), "model_version": "1",
				"sequence_end": false, "sequence_id": 0, "sequence_start": false, "text_output": text,
			}
		}
		var all strings.Builder
		var out streamer
		if decoupled {
			out = newStreamer(w, eventStream, http.StatusOK)
		}
		failed, left := x.follow(req, func(_ int, text string) {
			if decoupled {
				out.event(frame(text))
			}
			all.WriteString(text)
		})
		switch {
		case left:
		case failed && decoupled:
			out.event(apiError{"in ensemble 'ensemble', Executor error"})
		case failed:
			t.reject(r, w)
		case !decoupled:
			newStreamer(w, eventStream, http.StatusOK).event(frame(all.String()))
		}
	})
}

// readRequest reads a request: an unknown model is 404, a missing input 400.
func (t *triton) readRequest(
	r *Replica,
	w http.ResponseWriter,
	req *http.Request,
) (asked generateRequest, decoupled, ok bool) {
	r.locked(t, func() {
		if m := t.byName(req.PathValue("model")); m != nil && m.state == modelReady {
			ok, decoupled = true, m.decoupled
		}
	})
	if !ok {
		write(w, http.StatusNotFound, unknownModel(req))
		return asked, decoupled, false
	}
	if err := decode(req, &asked); err != nil || asked.Text == "" {
		write(
			w,
			http.StatusBadRequest,
			apiError{"expected 2 inputs but got 0 inputs for model '" + req.PathValue("model") + "'"},
		)
		return asked, decoupled, false
	}
	setDefault(&asked.MaxTokens, asked.SamplingMaxTokens)
	if asked.SamplingParameters != "" {
		_ = json.Unmarshal([]byte(asked.SamplingParameters), &asked)
	}
	setDefault(&asked.MaxTokens, 16)
	return asked, decoupled, true
}

// reject answers a request that failed: 400 for dead stubs, else 503.
func (t *triton) reject(r *Replica, w http.ResponseWriter) {
	failing := false
	r.locked(t, func() { failing = t.w.failing })
	status, text := http.StatusServiceUnavailable, "Exceeds maximum queue size"
	if failing {
		status, text = http.StatusBadRequest, "in ensemble 'ensemble', Failed to process the request(s) for model "+
			"'preprocessing_0_0', message: Stub process 'preprocessing_0_0' is not healthy."
	}
	newStreamer(w, eventStream, status).event(apiError{text})
}
