package kserve

// DecodeConfig reads a ModelConfigResponse.
func DecodeConfig(raw []byte) ([]byte, error) {
	r, _, _ := find("GET", "/v2/models/m/config")
	_, text, err := r.answer(raw)
	return text, err
}
