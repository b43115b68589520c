package kserve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

type tensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// elements returns a pointer to decode an element into, by datatype.
func elements() map[string]any {
	return map[string]any{
		"BYTES":  new(string),
		"BOOL":   new(bool),
		"INT8":   new(int8),
		"UINT8":  new(uint8),
		"INT16":  new(int16),
		"UINT16": new(uint16),
		"INT32":  new(int32),
		"UINT32": new(uint32),
		"INT64":  new(int64),
		"UINT64": new(uint64),
		"FP32":   new(float32),
		"FP64":   new(float64),
	}
}

// encode encodes one element of an input for raw_input_contents: little endian, texts
// prefixed with their length (Triton, docs/protocol/extension_binary_data.md).
func (t *tensor) encode(value json.RawMessage) ([]byte, error) {
	element, ok := elements()[t.Datatype]
	if !ok {
		return nil, fmt.Errorf("input %s has type %s, which is not supported", t.Name, t.Datatype)
	}
	if err := json.Unmarshal(value, element); err != nil {
		return nil, fmt.Errorf("input %s of type %s: %w", t.Name, t.Datatype, err)
	}
	if text, ok := element.(*string); ok {
		return append(
			binary.LittleEndian.AppendUint32(nil, uint32(len(*text))),
			*text...), nil //nolint:gosec // A request is small.
	}
	return binary.Append(nil, binary.LittleEndian, element)
}

// decodeTexts decodes the elements of a text output; ok is false if it is truncated.
func decodeTexts(raw []byte) (all [][]byte, ok bool) {
	const prefix = 4
	for len(raw) > 0 {
		if len(raw) < prefix {
			return nil, false
		}
		size := uint64(binary.LittleEndian.Uint32(raw))
		if raw = raw[prefix:]; uint64(len(raw)) < size {
			return nil, false
		}
		all, raw = append(all, raw[:size]), raw[size:]
	}
	return all, true
}
