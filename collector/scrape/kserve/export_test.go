package kserve

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/dynamicpb"
)

// DecodeConfig decodes a ModelConfigResponse.
func DecodeConfig(raw []byte) ([]byte, error) {
	r, _, _ := find("GET", "/v2/models/m/config")
	reply := dynamicpb.NewMessage(method(r.rpc).Output())
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, reply); err != nil {
		return nil, err
	}
	_, text, err := r.answer(reply)
	return text, err
}
