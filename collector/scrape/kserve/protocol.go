package kserve

import (
	_ "embed" // For the description of the protocol.
	"errors"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed protocol.textproto
var protocol string

func rpcPath(rpc protoreflect.Name) string { return "/inference.GRPCInferenceService/" + string(rpc) }

// method returns a method of the service, with its messages.
func method(rpc protoreflect.Name) protoreflect.MethodDescriptor { return methods().ByName(rpc) }

//nolint:gochecknoglobals // constant data that is parsed when it is first needed.
var methods = sync.OnceValue(func() protoreflect.MethodDescriptors {
	description := new(descriptorpb.FileDescriptorProto)
	err := prototext.Unmarshal([]byte(protocol), description)
	file, invalid := protodesc.NewFile(description, nil)
	if err = errors.Join(err, invalid); err != nil {
		panic(err) // It is a part of the program.
	}
	return file.Services().Get(0).Methods()
})

// object converts a message to JSON as the HTTP API does: an enum always has a value, the
// first one if the server sent none; other fields appear only if the server sent them. Unlike
// in protojson, 64-bit integers are numbers.
func object(m protoreflect.Message) map[string]any {
	out := make(map[string]any)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); m.Has(f) || f.Enum() != nil && !f.IsList() {
			out[f.TextName()] = fieldValue(f, m.Get(f))
		}
	}
	return out
}

func fieldValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = element(f, v.List().Get(i))
		}
		return list
	case f.IsMap():
		entries := make(map[string]any, v.Map().Len())
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			entries[k.String()] = element(f.MapValue(), v)
			return true
		})
		return entries
	}
	return element(f, v)
}

func element(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.Message() != nil:
		return object(v.Message())
	case f.Enum() != nil:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return value.Name()
		}
	}
	return v.Interface()
}
