package kserve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// tensor is an input of a model in its metadata.
type tensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// encode encodes one element of an input for raw_input_contents: little endian, texts
// with their length before them (Triton, docs/protocol/extension_binary_data.md).
func (t *tensor) encode(value json.RawMessage) ([]byte, error) {
	var (
		text   string
		on     bool
		number float64
		into   any
	)
	switch t.Datatype {
	case "BYTES":
		into = &text
	case "BOOL":
		into = &on
	default:
		into = &number
	}
	if err := json.Unmarshal(value, into); err != nil {
		return nil, fmt.Errorf("input %s of type %s: %w", t.Name, t.Datatype, err)
	}
	switch t.Datatype {
	case "BYTES":
		return append(binary.LittleEndian.AppendUint32(nil, uint32(min(int64(len(text)), math.MaxUint32))), text...), nil
	case "BOOL", "INT8", "UINT8":
		if on {
			number = 1
		}
		return []byte{byte(int64(number))}, nil
	case "INT16", "UINT16":
		return binary.LittleEndian.AppendUint16(nil, uint16(int64(number))), nil //nolint:gosec // Both have the same bits.
	case "INT32", "UINT32":
		return binary.LittleEndian.AppendUint32(nil, uint32(int64(number))), nil //nolint:gosec // As above.
	case "INT64", "UINT64":
		return binary.LittleEndian.AppendUint64(nil, uint64(int64(number))), nil //nolint:gosec // As above.
	case "FP32":
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(number))), nil
	case "FP64":
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(number)), nil
	}
	return nil, fmt.Errorf("input %s has type %s, which is not supported", t.Name, t.Datatype)
}

// decodeTexts decodes the elements of an output of texts; false for one that is
// truncated.
func decodeTexts(raw []byte) (all []string, ok bool) {
	const prefix = 4
	for len(raw) > 0 {
		if len(raw) < prefix {
			return nil, false
		}
		size := uint64(binary.LittleEndian.Uint32(raw))
		if raw = raw[prefix:]; uint64(len(raw)) < size {
			return nil, false
		}
		all, raw = append(all, string(raw[:size])), raw[size:]
	}
	return all, true
}
