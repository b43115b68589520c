package kserve

import (
	_ "embed" // For the description of the protocol.
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed protocol.textproto
var protocol string

// rpcPath returns the full name of a method of the protocol's one service.
func rpcPath(rpc protoreflect.Name) string { return "/inference.GRPCInferenceService/" + string(rpc) }

// methods returns the methods of the service, with their messages.
//
//nolint:gochecknoglobals // constant data that is parsed when it is first needed.
var methods = sync.OnceValues(func() (protoreflect.MethodDescriptors, error) {
	description := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(protocol), description); err != nil {
		return nil, fmt.Errorf("protocol.textproto: %w", err)
	}
	file, err := protodesc.NewFile(description, nil)
	if err != nil {
		return nil, fmt.Errorf("protocol.textproto: %w", err)
	}
	return file.Services().Get(0).Methods(), nil
})

// object returns a message as the HTTP API writes it: enums always have a value, the
// first one when the server sent none; other fields only when it sent them. Integers of
// 64 bits are numbers there, unlike in protojson.
func object(m protoreflect.Message) (map[string]any, error) {
	if err := checkTypes(m); err != nil {
		return nil, err
	}
	out := make(map[string]any)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) && (f.Enum() == nil || f.IsList()) {
			continue
		}
		v, err := fieldValue(f, m.Get(f))
		if err != nil {
			return nil, err
		}
		out[f.TextName()] = v
	}
	return out, nil
}

// checkTypes refuses a field whose wire type is not its own; the library treats such a
// field as an unknown one.
func checkTypes(m protoreflect.Message) error {
	for raw := m.GetUnknown(); len(raw) > 0; {
		number, wire, size := protowire.ConsumeField(raw)
		if size < 0 {
			return fmt.Errorf("%w: %w", errReply, protowire.ParseError(size))
		}
		if f := m.Descriptor().Fields().ByNumber(number); f != nil {
			return fmt.Errorf("%w: %s has wire type %d", errReply, f.Name(), wire)
		}
		raw = raw[size:]
	}
	return nil
}

// fieldValue returns the value of a field: a list, a map, or a single value.
func fieldValue(f protoreflect.FieldDescriptor, v protoreflect.Value) (out any, err error) {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			if list[i], err = element(f, v.List().Get(i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case f.IsMap():
		entries := make(map[string]any, v.Map().Len())
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			entries[k.String()], err = element(f.MapValue(), v)
			return err == nil
		})
		return entries, err
	}
	return element(f, v)
}

// element returns a single value of a field.
func element(f protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch {
	case f.Message() != nil:
		return object(v.Message())
	case f.Enum() != nil:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return value.Name(), nil
		}
	}
	return v.Interface(), nil
}
