package scrape_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// squeezed returns a text compressed with gzip.
func squeezed(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.Bytes()
}

// FuzzGzip compares the body of a compressed page with what the standard library
// decompresses, within the limit and whatever the previous body was.
func FuzzGzip(f *testing.F) {
	const limit = 4 << 10
	complete := squeezed(page)
	bomb := squeezed(strings.Repeat("0", 1<<20))
	for _, body := range [][]byte{
		nil, complete, complete[:len(complete)-1], complete[:len(complete)/2], complete[:9],
		append(bytes.Clone(complete), "more"...), append(bytes.Clone(complete), complete...), bomb, bomb[:len(bomb)-8],
		[]byte(page), squeezed(""), squeezed(strings.Repeat("0", limit)), squeezed(strings.Repeat("0", limit+1)),
		append(bytes.Clone(complete), "\x1f\x8b\b\b0000000000"...), // A second member whose name has no end.
	} {
		f.Add(body)
	}
	cfg := scrape.DefaultConfig
	cfg.Limits.Body, cfg.Limits.CompressedBody = limit, limit
	client, err := scrape.New(cfg, quiet())
	require.NoError(f, err)
	f.Cleanup(client.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		want, problem := inflated(body, limit)
		for range 2 {
			got, failure := scrape.Inflated(client, body)
			if failure != nil {
				reason := scrape.ReasonOf(failure)
				require.Contains(t, []scrape.Reason{scrape.ReasonBodyTooLarge, scrape.ReasonDecompress}, reason)
				require.True(t, problem != nil || len(want) > limit || len(body) > limit, "%v", failure)
				continue
			}
			require.NoError(t, problem)
			require.LessOrEqual(t, len(got), limit)
			require.Equal(t, string(want), string(got))
		}
	})
}

// inflated decompresses a body with the standard library, up to one byte over the limit.
func inflated(body []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit+1))
}
