package secret_test

import (
	"strings"
	"testing"
)

func BenchmarkPageWithoutSecret(b *testing.B) {
	s := storeOf("hunter2hunter2", "another-token-of-some-length")
	line := `nv_inference_request_duration_us{model="tensorrt_llm",version="1"} 123456` + "\n"
	page := []byte(strings.Repeat(line, 700))
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		s.In(page)
	}
}

func BenchmarkTextWithoutSecret(b *testing.B) {
	s := storeOf("hunter2hunter2", "another-token-of-some-length")
	for b.Loop() {
		s.Hide("the server answers 503: queue is full, try again later")
	}
}
