package exposition

import (
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoding is the content encoding of a response.
type Encoding string

// The supported encodings.
const (
	Identity Encoding = ""
	Gzip     Encoding = "gzip"
	Zstd     Encoding = "zstd"
)

// NegotiateEncoding chooses an encoding by the Accept-Encoding header: zstd, which is smaller at
// the same cost, unless the client prefers gzip; then gzip, which Prometheus requests; else none.
func NegotiateEncoding(accept string) Encoding {
	qualities := make(map[string]float64)
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		qualities[strings.ToLower(strings.TrimSpace(name))] = quality(params)
	}
	zs, gz := qualities["zstd"], qualities["*"]
	for _, name := range []string{"x-gzip", "gzip"} {
		if q, ok := qualities[name]; ok {
			gz = q
		}
	}
	switch {
	case zs > 0 && zs >= gz:
		return Zstd
	case gz > 0:
		return Gzip
	}
	return Identity
}

// quality returns the q parameter; a missing or invalid one counts as 1.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q=")
		if !ok {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return q
		}
	}
	return 1
}

type compressor interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// zstdWindow is how far back zstd looks for repetitions. A compressor keeps at least twice as much; with the
// usual window of 4 MiB it took an eighth of a sidecar's memory. The lines of a family repeat each other.
const zstdWindow = 512 << 10

// compressors holds unused compressors. Without them the page of one target takes three times as
// long, see BenchmarkPage. Their options are constants, so creating them cannot fail.
//
//nolint:gochecknoglobals // memory only.
var compressors = map[Encoding]*sync.Pool{
	Gzip: {New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return w
	}},
	Zstd: {New: func() any {
		w, _ := zstd.NewWriter(
			nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderConcurrency(1),
			zstd.WithZeroFrames(true),
		)
		return w
	}},
}

// Compress is [Layout.WriteText] with compression. It returns the uncompressed length.
func (l *Layout) Compress(
	w io.Writer,
	e Encoding,
	blocks []*Block,
	only func(name string) bool,
) (length int64, err error) {
	c := compressors[e].Get().(compressor) //nolint:forcetypeassert // the pools hold nothing else.
	defer func() {
		c.Reset(nil) // The pool must not keep a reference to the page.
		compressors[e].Put(c)
	}()
	c.Reset(w)
	text := lengthWriter{Writer: c}
	if err := l.WriteText(&text, blocks, only); err != nil {
		return 0, err
	}
	return text.length, c.Close()
}

// lengthWriter counts the bytes that are written.
type lengthWriter struct {
	io.Writer

	length int64
}

func (w *lengthWriter) Write(text []byte) (int, error) {
	w.length += int64(len(text))
	return w.Writer.Write(text)
}
