package kserve

import "google.golang.org/protobuf/proto"

// DecodeConfig reads a ModelConfigResponse.
func DecodeConfig(raw []byte) ([]byte, error) {
	r, name, _ := find("GET", "/v2/models/m/config")
	call, err := r.call(name)
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(raw, call.reply); err != nil {
		return nil, err
	}
	_, text, err := r.answer(call.reply)
	return text, err
}
