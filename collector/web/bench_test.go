package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// sink is a ResponseWriter that counts bytes and discards them.
type sink struct {
	header http.Header
	bytes  int64
}

func (s *sink) Header() http.Header { return s.header }

func (*sink) WriteHeader(int) {}

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return len(p), nil
}

// BenchmarkPage reads the page of many targets; "first" makes it, "next"
// shares what an earlier reader had made.
//
//	go test ./collector/web -run '^$' -bench Page -count 6
func BenchmarkPage(b *testing.B) {
	for _, targets := range []int{1, 50, 1000} {
		f := newFleet(b)
		for i := range targets {
			f.page("pool", "r"+strconv.Itoa(i), string(simulate.BenchPage(simulate.BenchTRTLLM, i, 1)))
		}
		for _, c := range []struct {
			reader, encoding string
			maxAge           time.Duration
		}{
			{"first", "identity", 0},
			{"first", "gzip", 0},
			{"first", "zstd", 0},
			{"next", "gzip", time.Hour},
		} {
			b.Run(fmt.Sprintf("targets=%d/encoding=%s/reader=%s", targets, c.encoding, c.reader), func(b *testing.B) {
				opts := f.options()
				opts.Exposition = pageMaxAge(c.maxAge)
				h := handler(b, opts)
				r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
				r.Header.Set("Accept-Encoding", c.encoding)
				w := &sink{header: http.Header{}}
				h.ServeHTTP(w, r)
				b.SetBytes(w.bytes)
				b.ReportAllocs()
				for b.Loop() {
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}
