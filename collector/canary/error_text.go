package canary

import (
	"encoding/json"
	"strings"
)

// errorText extracts the message from the JSON of an error, or returns text unchanged. Triton
// sends {"error": text}, with an error status also as an event or as a JSON string; servers with
// OpenAI's API send {"error": {"message": text}} or {"object": "error", "message": text}, Dynamo
// {"message": text}, FastAPI {"detail": text}.
func errorText(text string) string {
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil {
		text = quoted
	}
	body, event := strings.CutPrefix(strings.TrimSpace(text), "data:")
	if event {
		body, _, _ = strings.Cut(body, "\n")
	}
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal([]byte(body), &answer) != nil {
		return text
	}
	for _, field := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		var message string
		if json.Unmarshal(field, &message) == nil && message != "" {
			return message
		}
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(field, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	return text
}
