package canary

import (
	"encoding/json"
	"strconv"
	"strings"
)

// errorText extracts the message from the JSON of an error, or returns text unchanged. Triton
// sends {"error": text}, with an error status also as an event or as a JSON string; servers with
// OpenAI's API send {"error": {"message": text}} or {"object": "error", "message": text}, Dynamo
// {"message": text}, FastAPI {"detail": text}.
func errorText(text string) string {
	body, _ := eventData(text)
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal([]byte(body), &answer) != nil {
		return body
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
	return body
}

// eventData returns the data of an answer that is an event, which may be a JSON string, or the answer itself.
func eventData(text string) (data string, event bool) {
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil {
		text = quoted
	}
	data, event = strings.CutPrefix(strings.TrimSpace(text), "data:")
	if event {
		data, _, _ = strings.Cut(data, "\n")
	}
	return data, event
}

// errorCode returns the status in the JSON of an error, {"error": {"code": 503}} or {"code": "503"}, 0 if
// there is none.
func errorCode(text string) int {
	var answer struct {
		Error json.RawMessage `json:"error"`
		Code  json.RawMessage `json:"code"`
	}
	var inner struct {
		Code json.RawMessage `json:"code"`
	}
	_ = json.Unmarshal([]byte(text), &answer)
	_ = json.Unmarshal(answer.Error, &inner)
	for _, code := range []json.RawMessage{inner.Code, answer.Code} {
		if n, err := strconv.Atoi(strings.Trim(string(code), `"`)); err == nil {
			return n
		}
	}
	return 0
}
