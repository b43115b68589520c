package kserve

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// message says what the fields of a protocol buffer are called and hold.
// Fields that it does not know are passed over, as protocol buffers ask for.
type message map[protowire.Number]field

// field is one field of a message.
type field struct {
	name string
	kind kind
	many bool
	// words are the names of a choice by number; of is the message of a block,
	// and of an entry the two fields of a map, 1 and 2.
	words []string
	of    message
}

// kind is what a field holds.
type kind uint8

const (
	kindText kind = iota
	kindFlag
	kindNumber
	kindChoice
	kindBlock
	kindEntry
)

func text(name string) field   { return field{name: name, kind: kindText} }
func flag(name string) field   { return field{name: name, kind: kindFlag} }
func number(name string) field { return field{name: name, kind: kindNumber} }
func choice(name string, words ...string) field {
	return field{name: name, kind: kindChoice, words: words}
}
func block(name string, of message) field { return field{name: name, kind: kindBlock, of: of} }

// entries is a map; its keys are text in JSON, whatever they are here.
func entries(name string, key, value field) field {
	return field{name: name, kind: kindEntry, of: message{1: key, 2: value}}
}

// list is the field, repeated.
func (f field) list() field {
	f.many = true
	return f
}

// The ways in which an answer is no message.
var (
	errDeep  = errors.New("the answer is nested too deeply")
	errField = errors.New("the answer is no such message")
)

// maxDepth bounds the nesting; no message comes near it.
const maxDepth = 16

// decode reads a message into what JSON has for it. Choices always have a
// value, their first when the wire has none; other fields only when they are
// there.
func (m message) decode(raw []byte, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	out := make(map[string]any)
	for _, f := range m {
		if f.kind == kindChoice && !f.many && len(f.words) > 0 {
			out[f.name] = f.words[0]
		}
	}
	for len(raw) > 0 {
		number, wire, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", errField, protowire.ParseError(n))
		}
		raw = raw[n:]
		size := protowire.ConsumeFieldValue(number, wire, raw)
		if size < 0 {
			return nil, fmt.Errorf("%w: %w", errField, protowire.ParseError(size))
		}
		if f, known := m[number]; known {
			if err := f.add(out, wire, raw[:size], depth); err != nil {
				return nil, err
			}
		}
		raw = raw[size:]
	}
	return out, nil
}

// add puts the value of one field, of the given wire type, into out.
func (f *field) add(out map[string]any, wire protowire.Type, raw []byte, depth int) error {
	switch {
	case f.kind == kindEntry && wire == protowire.BytesType:
		return f.addEntry(out, raw, depth)
	case f.numeric() && f.many && wire == protowire.BytesType:
		return f.addPacked(out, raw)
	case f.numeric() != (wire == protowire.VarintType), !f.numeric() && wire != protowire.BytesType:
		return fmt.Errorf("%w: %s has wire type %d", errField, f.name, wire)
	}
	if f.numeric() {
		v, _ := protowire.ConsumeVarint(raw)
		f.put(out, f.value(v))
		return nil
	}
	body, _ := protowire.ConsumeBytes(raw)
	if f.kind == kindText {
		if !utf8.Valid(body) {
			return fmt.Errorf("%w: %s is no text", errField, f.name)
		}
		f.put(out, string(body))
		return nil
	}
	inner, err := f.of.decode(body, depth+1)
	if err != nil {
		return err
	}
	f.put(out, inner)
	return nil
}

// numeric says whether the field is a number on the wire.
func (f *field) numeric() bool {
	return f.kind == kindFlag || f.kind == kindNumber || f.kind == kindChoice
}

// put sets the field, or appends to it.
func (f *field) put(out map[string]any, v any) {
	if !f.many {
		out[f.name] = v
		return
	}
	list, _ := out[f.name].([]any)
	out[f.name] = append(list, v)
}

// value is a number of the wire in the field's own terms.
func (f *field) value(v uint64) any {
	switch {
	case f.kind == kindFlag:
		return v != 0
	case f.kind == kindChoice && v < uint64(len(f.words)):
		return f.words[v]
	}
	// No number here is unsigned and larger than a signed one.
	return int64(v) //nolint:gosec // Negative numbers come as their two's complement.
}

// addPacked appends the numbers of a packed list.
func (f *field) addPacked(out map[string]any, raw []byte) error {
	body, _ := protowire.ConsumeBytes(raw)
	for len(body) > 0 {
		v, n := protowire.ConsumeVarint(body)
		if n < 0 {
			return fmt.Errorf("%w: %w", errField, protowire.ParseError(n))
		}
		f.put(out, f.value(v))
		body = body[n:]
	}
	return nil
}

// addEntry puts one pair of a map.
func (f *field) addEntry(out map[string]any, raw []byte, depth int) error {
	body, _ := protowire.ConsumeBytes(raw)
	pair, err := f.of.decode(body, depth+1)
	if err != nil {
		return err
	}
	key := ""
	switch k := pair[f.of[1].name].(type) {
	case string:
		key = k
	case int64:
		key = strconv.FormatInt(k, 10)
	}
	all, ok := out[f.name].(map[string]any)
	if !ok {
		all = make(map[string]any)
		out[f.name] = all
	}
	if v, set := pair[f.of[2].name]; set {
		all[key] = v
	} else {
		all[key] = f.of[2].nothing()
	}
	return nil
}

// nothing is the value of a field that the wire leaves out.
func (f field) nothing() any {
	switch f.kind {
	case kindText:
		return ""
	case kindFlag:
		return false
	case kindNumber:
		return int64(0)
	case kindBlock, kindEntry, kindChoice:
	}
	return map[string]any{}
}
