package canary

import (
	"encoding/json"
	"strings"
)

// complaint is what a server says to be wrong, without the JSON around it. Triton
// answers {"error": text}, under a status that is an error also as an event, which may be
// the text of a JSON string;
// OpenAI's servers {"error": {"message": text}} or {"object": "error",
// "message": text}, Dynamo {"message": text}, FastAPI {"detail": text}. Any other
// text is returned as it is.
func complaint(text string) string {
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
	for _, said := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		var words string
		if json.Unmarshal(said, &words) == nil && words != "" {
			return words
		}
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(said, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	return text
}
