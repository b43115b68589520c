package canary

import (
	"encoding/json"
	"time"
)

const seed = 7

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
	text, _ := json.Marshal(body) // Marshaling strings and numbers cannot fail.
	return text
}

// chunk is one frame of a stream of OpenAI's API, chat or completions.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Choices []choice        `json:"choices"`
	Usage   *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// choice is an answer in a frame. Chats have deltas, some servers messages, and completions texts.
type choice struct {
	Delta        any    `json:"delta"`
	Message      any    `json:"message"`
	Text         any    `json:"text"`
	FinishReason string `json:"finish_reason"`
}

func (a *attempt) addEvent(text []byte, name string, now time.Time) *failure {
	switch {
	case name == "error":
		return errorFrame("an error event: ", string(text))
	case len(text) == 0:
		return nil
	case a.question.Generate:
		return a.addGenerate(text, now)
	case string(text) == "[DONE]":
		a.answer.end = now
		return nil
	}
	var c chunk
	if err := json.Unmarshal(text, &c); err != nil {
		return &failure{Malformed, "a frame is not the JSON of a completion: " + string(text)}
	}
	if c.failed() {
		return errorFrame("an error in the stream: ", string(text))
	}
	a.answer.addChunk(&c, now)
	return nil
}

func (c *chunk) failed() bool {
	return c.Object == "error" || isSet(c.Error) || len(c.Choices) == 0 && isSet(c.Detail)
}

func isSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

func (a *answer) addChunk(c *chunk, now time.Time) {
	if c.Usage != nil {
		a.usage = max(0, c.Usage.CompletionTokens)
	}
	var all []piece
	for i := range c.Choices {
		c := &c.Choices[i]
		a.finished = a.finished || c.FinishReason != ""
		for _, said := range []any{c.Delta, c.Message, c.Text} {
			pieces, _ := piecesOf("", said)
			all = append(all, pieces...)
		}
	}
	a.add(all, now)
}
