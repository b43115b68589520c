package exposition

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoding is a content coding of an answer.
type Encoding string

// The codings on offer; the empty one is the plain page.
const (
	Identity Encoding = ""
	Gzip     Encoding = "gzip"
	Zstd     Encoding = "zstd"
)

// NegotiateEncoding chooses by the Accept-Encoding header: zstd when asked
// for and not liked less than gzip, because it is smaller at the same cost; gzip,
// which Prometheus asks for; else the plain page.
func NegotiateEncoding(accept string) Encoding {
	gz, zs := -1.0, -1.0
	rest := -1.0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		q := quality(params)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			gz = q
		case "zstd":
			zs = q
		case "*":
			rest = q
		}
	}
	if gz < 0 {
		gz = rest
	}
	switch {
	case zs > 0 && zs >= gz:
		return Zstd
	case gz > 0:
		return Gzip
	}
	return Identity
}

// quality reads the q parameter; what cannot be read counts as 1.
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

// compressor compresses one page after another and reuses its tables and memory.
type compressor struct {
	gz  *gzip.Writer
	zs  *zstd.Encoder
	buf []byte
}

// compressors have tables of earlier pages.
//
//nolint:gochecknoglobals // memory only.
var compressors = sync.Pool{New: func() any { return &compressor{} }}

// Compress returns the page that [Layout.WriteText] writes, compressed, and its length
// before compression. The page is allocated with room for size bytes; 0 lets it grow.
func (l *Layout) Compress(e Encoding, blocks []*Block, only func(name string) bool, size int) (page []byte, length int64, err error) {
	c := compressors.Get().(*compressor) //nolint:forcetypeassert // the pool has nothing else.
	defer compressors.Put(c)
	out := bytes.NewBuffer(make([]byte, 0, size))
	to, err := c.start(e, out)
	if err != nil {
		return nil, 0, err
	}
	text := lengthWriter{Writer: to}
	if c.buf, err = l.WriteText(&text, blocks, c.buf, only); err != nil {
		return nil, 0, err
	}
	err = to.Close()
	return out.Bytes(), text.length, err
}

// lengthWriter counts the bytes that go through it.
type lengthWriter struct {
	io.Writer

	length int64
}

// Write implements io.Writer.
func (w *lengthWriter) Write(text []byte) (int, error) {
	w.length += int64(len(text))
	return w.Writer.Write(text)
}

// start returns a writer that compresses into w the fastest way; the page is whole
// when it is closed.
func (c *compressor) start(e Encoding, w io.Writer) (_ io.WriteCloser, err error) {
	if e == Zstd {
		if c.zs == nil {
			if c.zs, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true)); err != nil {
				return nil, err
			}
		}
		c.zs.Reset(w)
		return c.zs, nil
	}
	if c.gz == nil {
		if c.gz, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	c.gz.Reset(w)
	return c.gz, nil
}
