package exposition

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
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
// for and not liked less than gzip, for it is smaller at the same cost; gzip,
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

// pieceCompressor compresses the pieces of pages and reuses its tables.
type pieceCompressor struct {
	repeater
	deflater

	plain  []byte
	values []byte
	packed bytes.Buffer
	frame  []byte
	gz     *flate.Writer
	zs     *zstd.Encoder
}

// compressors have tables of earlier pages.
//
//nolint:gochecknoglobals // memory only.
var compressors = sync.Pool{New: func() any { return &pieceCompressor{} }}

// compress compresses the text so that it can be put between others: as blocks of
// deflate up to a whole byte, none of them the last, or as a frame of zstd. The bytes
// are good until it is called again.
func (c *pieceCompressor) compress(e Encoding) (data []byte, err error) {
	if e == Zstd {
		if c.zs == nil {
			c.zs, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(pieceSize), zstd.WithZeroFrames(true))
			if err != nil {
				return nil, err
			}
		}
		c.frame = c.zs.EncodeAll(c.plain, c.frame[:0])
		return c.frame, nil
	}
	c.packed.Reset()
	if c.gz == nil {
		if c.gz, err = flate.NewWriter(&c.packed, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	c.gz.Reset(&c.packed)
	if _, err = c.gz.Write(c.plain); err == nil {
		err = c.gz.Flush()
	}
	return c.packed.Bytes(), err
}

// Compressor writes one compressed page after another and reuses its tables. It
// is not safe for concurrent use.
type Compressor struct {
	gz *gzip.Writer
	zs *zstd.Encoder
}

// Start returns a writer that compresses into w; the page is whole when it
// is closed. With Identity it writes through.
func (c *Compressor) Start(e Encoding, w io.Writer) (_ io.WriteCloser, err error) {
	switch e {
	case Gzip:
		if c.gz == nil {
			if c.gz, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
				return nil, err
			}
		}
		c.gz.Reset(w)
		return c.gz, nil
	case Zstd:
		if c.zs == nil {
			if c.zs, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
				return nil, err
			}
		}
		c.zs.Reset(w)
		return c.zs, nil
	default:
		return nopCloser{w}, nil
	}
}

// nopCloser is a writer whose end needs no work.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
