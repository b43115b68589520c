package scrape_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// canned answers every request with the same bytes and allocates nothing, so that only
// the client is measured.
func canned(tb testing.TB, reply string) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	tb.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				request, text := make([]byte, 4096), []byte(reply)
				for {
					n, err := conn.Read(request)
					if err != nil {
						return
					}
					if n > 4 && string(request[n-4:n]) == "\r\n\r\n" {
						conn.Write(text)
					}
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/metrics"
}

// BenchmarkScrape compares one scrape with net/http's client in the same run:
// go test -run '^$' -bench Scrape ./collector/scrape.
func BenchmarkScrape(b *testing.B) {
	for _, samples := range []int{40, 400, 4000} {
		var body strings.Builder
		for i := range samples {
			fmt.Fprintf(&body, "nv_inference_request_success{model=\"tensorrt_llm_%d\",version=\"1\"} %d\n", i, i*1000)
		}
		url := canned(b, answer("200 OK", "Content-Type: text/plain\r\n", body.String()))
		b.Run(fmt.Sprintf("samples=%d/client=ours", samples), func(b *testing.B) {
			client, err := scrape.New(scrape.DefaultConfig, quiet())
			require.NoError(b, err)
			defer client.Close()
			var buf []byte
			b.SetBytes(int64(body.Len()))
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
				got, err := client.Scrape(ctx, url, buf)
				cancel()
				if err != nil {
					b.Fatal(err)
				}
				buf = got.Body
				got.Release()
			}
			require.Equal(b, body.String(), string(buf))
		})
		b.Run(fmt.Sprintf("samples=%d/client=plain", samples), func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			b.SetBytes(int64(body.Len()))
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
				require.NoError(b, err)
				resp, err := client.Do(req)
				require.NoError(b, err)
				_, err = io.ReadAll(resp.Body)
				require.NoError(b, err)
				resp.Body.Close()
				cancel()
			}
		})
	}
}
