package scrape

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"
)

// inflater decompresses one body; it is reused, since it is some 40 kB.
type inflater struct {
	wire   wireReader
	buffer *bufio.Reader
	gzip   gzip.Reader
}

func newInflater() any {
	return &inflater{buffer: bufio.NewReader(nil)}
}

// wireReader counts and bounds the compressed bytes, and keeps an error of the
// connection apart from those of the compression.
type wireReader struct {
	body  io.Reader
	err   error
	count int64
	limit int64
}

// Read gives errLimit in place of bytes over the limit.
func (w *wireReader) Read(p []byte) (int, error) {
	if w.limit > 0 {
		left := w.limit - w.count + 1
		if int64(len(p)) > left {
			p = p[:left]
		}
	}
	n, err := w.body.Read(p)
	w.count += int64(n)
	if w.limit > 0 && w.count > w.limit {
		err = errLimit
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// readGzip appends the decompressed body to buf. Both sizes are bounded, since
// a page may compress 500 to 1 (and a bomb more).
func (c *Client) readGzip(ctx context.Context, resp *http.Response, room *reservation, buf []byte, limit int64) ([]byte, *Error) {
	in, ok := c.inflaters.Get().(*inflater)
	if !ok {
		return buf, failf(ReasonDecompress, "", "no decompressor")
	}
	defer func() {
		in.wire = wireReader{}
		in.buffer.Reset(nil)
		c.inflaters.Put(in)
	}()
	in.wire = wireReader{body: resp.Body, limit: int64(c.limits.CompressedBody)}
	in.buffer.Reset(&in.wire)
	err := in.gzip.Reset(in.buffer)
	if err == nil {
		buf, err = appendAll(ctx, room, buf, &in.gzip, limit)
	}
	switch {
	case err == nil:
		return buf, nil
	case errors.Is(in.wire.err, errLimit):
		return buf, failf(ReasonBodyTooLarge, "", "the compressed body is over limits.compressed_body %s; raise it or reduce the metrics that the server exposes", c.limits.CompressedBody)
	case in.wire.err != nil:
		return buf, classify(ctx, stageBody, in.wire.err)
	case errors.Is(err, errLimit):
		return buf, c.tooLarge("is", limit)
	}
	if failure, ok := errors.AsType[*Error](err); ok {
		return buf, failure
	}
	return buf, failf(ReasonDecompress, "", "the body is not the gzip that Content-Encoding says: %w; look at the server or a proxy in between", err)
}
