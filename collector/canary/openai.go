package canary

import (
	"encoding/json"
	"time"
)

// seed is the same for all requests.
const seed = 7

// openAIBody is a request to /v1/chat/completions or /v1/completions.
func (a *attempt) openAIBody() []byte {
	body := map[string]any{
		"model": a.question.Model, "max_tokens": a.tokens, "temperature": 0, "stream": true,
	}
	if a.cfg.Endpoint == EndpointCompletions {
		body["prompt"] = a.cfg.Prompt
	} else {
		body["messages"] = []map[string]string{{"role": "user", "content": a.cfg.Prompt}}
	}
	if a.question.Usage {
		body["stream_options"] = map[string]bool{"include_usage": true}
	}
	if a.question.Seed {
		body["seed"] = seed
	}
	if a.long && a.question.IgnoreEOS {
		body["ignore_eos"] = true
	}
	// Text and numbers can always be written.
	text, _ := json.Marshal(body)
	return text
}

// chunk is one frame of OpenAI's streams, chat and completions alike.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"delta"`
		Text         string `json:"text"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// hear notes one event; a failure ends the request.
func (a *attempt) hear(text []byte, name string, now time.Time) *failure {
	switch {
	case name == "error":
		return &failure{ErrorFrame, "an error event: " + complaint(string(text))}
	case len(text) == 0:
		return nil
	case a.question.Generate:
		return a.hearGenerate(text, now)
	case string(text) == "[DONE]":
		a.heard.done, a.heard.end = true, now
		return nil
	}
	var c chunk
	if err := json.Unmarshal(text, &c); err != nil {
		return &failure{Malformed, "a frame that is no JSON of a completion: " + string(text)}
	}
	if c.failed() {
		return &failure{ErrorFrame, "an error in the stream: " + complaint(string(text))}
	}
	a.heard.chunk(&c, now)
	return nil
}

// failed reports whether a frame is an error.
func (c *chunk) failed() bool {
	return c.Object == "error" || said(c.Error) || len(c.Choices) == 0 && said(c.Detail)
}

// said is true of a key that is there and not null.
func said(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// chunk notes a frame.
func (h *partialAnswer) chunk(c *chunk, now time.Time) {
	if c.Usage != nil {
		h.usage = c.Usage.CompletionTokens
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		h.finished = h.finished || choice.FinishReason != ""
		h.text(choice.Delta.Reasoning+choice.Delta.Content+choice.Text, now)
	}
}
