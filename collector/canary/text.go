package canary

import (
	"encoding/json"
	"maps"
	"slices"
)

// piece is some text of a frame, and what of the answer it continues: content, reasoning, arguments of a call.
type piece struct{ of, text string }

// describes reports whether a key of a frame holds no word of an answer: who speaks, an id, or what kind of thing
// follows. Whatever else a server calls what it says, it says it.
func describes(key string) bool { return key == "role" || key == "id" || key == "type" }

// ofProtocol reports whether a key of a frame of generate_stream is Triton's own, and none of the model's outputs
// (server src/http_server.cc, GenerateRequestClass).
func ofProtocol(key string) bool {
	return slices.Contains([]string{
		"model_name", "model_version", "id", "sequence_id", "sequence_start", "sequence_end", "error",
	}, key)
}

// piecesOf returns the strings in a value, at any depth, that a model said. Strings is true if there are any, even
// empty ones. What they continue begins with a name.
func piecesOf(of string, value any) (pieces []piece, strings bool) {
	add := func(of string, value any) {
		more, found := piecesOf(of, value)
		pieces, strings = append(pieces, more...), strings || found
	}
	switch value := value.(type) {
	case string:
		return []piece{{of, value}}, true
	case []any:
		for _, v := range value {
			add(of, v)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !describes(key) {
				add(of+"."+key, value[key])
			}
		}
	}
	return pieces, strings
}

// outputsOf returns what the outputs of a model say in a frame of generate_stream: the usual output of texts, or
// all strings, or numbers if there are no strings, as of a model without a tokenizer.
func outputsOf(frame map[string]any) []piece {
	maps.DeleteFunc(frame, func(key string, v any) bool { return ofProtocol(key) || v == nil })
	if text, ok := frame["text_output"]; ok {
		frame = map[string]any{"text_output": text}
	}
	pieces, strings := piecesOf("", frame)
	if strings {
		return pieces
	}
	for _, key := range slices.Sorted(maps.Keys(frame)) {
		if list, ok := frame[key].([]any); !ok || len(list) > 0 {
			text, _ := json.Marshal(frame[key]) // What was unmarshaled can be marshaled.
			pieces = append(pieces, piece{key, string(text)})
		}
	}
	return pieces
}
