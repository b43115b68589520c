package scrape

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

const (
	// minBuffer is the size of the smallest buffer that a body is read into.
	minBuffer = 4 << 10
	// maxTrustedLength is how much of an announced length is allocated at once; a wrong
	// announcement costs no more.
	maxTrustedLength = 1 << 20
)

// errLimit ends the reading of a body that exceeds a limit.
var errLimit = errors.New("limit")

// maxBody returns the smaller of a limit, 0 for none, and the largest body that the
// memory of the process allows.
func (c *Client) maxBody(limit int64) int64 {
	if ceiling := c.resources.maxBody; ceiling > 0 && (limit <= 0 || ceiling < limit) {
		return ceiling
	}
	return limit
}

// readBody appends the body of a response to buf. It returns the buffer with every
// failure too, since it may have grown.
func (c *Client) readBody(s *scope, resp *http.Response, memory *reservation, buf []byte, limit int64) ([]byte, *Error) {
	limit = c.maxBody(limit)
	memory.maxSize = limit
	defer memory.settle()
	switch encodingOf(resp) {
	case "":
		return c.readPlain(s, resp, memory, buf, limit)
	case "gzip", "x-gzip":
		return c.readGzip(s, resp, memory, buf, limit)
	default:
		return buf, failf(ReasonDecompress, "", "the body is encoded as %.40q; have the server honour Accept-Encoding: gzip",
			s.sent.redact(resp.Header.Get("Content-Encoding")))
	}
}

// encodingOf returns how a body is encoded, empty for not at all.
func encodingOf(resp *http.Response) string {
	if encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding != "identity" {
		return encoding
	}
	return ""
}

func (c *Client) readPlain(ctx context.Context, resp *http.Response, memory *reservation, buf []byte, limit int64) ([]byte, *Error) {
	switch length := resp.ContentLength; {
	case limit > 0 && length > limit:
		return buf, c.tooLarge(fmt.Sprintf("has %d bytes,", length), limit)
	case length == 0:
		return buf, nil // As most responses about health.
	case length > 0:
		memory.maxSize = int64(len(buf)) + length
		size := int(min(length, maxTrustedLength))
		if failure := memory.cover(ctx, len(buf)+size); failure != nil {
			return buf, failure
		}
		buf = slices.Grow(buf, size)
	}
	buf, err := appendAll(ctx, memory, buf, resp.Body, limit)
	switch {
	case errors.Is(err, errLimit):
		return buf, c.tooLarge("is", limit)
	case err != nil:
		return buf, classify(ctx, stageBody, err)
	}
	return buf, nil
}

// tooLarge returns the failure of a body over its limit.
func (c *Client) tooLarge(what string, limit int64) *Error {
	if limit == c.resources.maxBody {
		return failf(ReasonBodyTooLarge, "", "the body %s over %s, the share of the exporter's memory limit for one body; raise that (GOMEMLIMIT, or the limit of the container) or reduce the metrics that the server exposes", what, Size(limit))
	}
	return failf(ReasonBodyTooLarge, "", "the body %s over the limit of %s; raise limits.body or reduce the metrics that the server exposes", what, Size(limit))
}

// appendAll appends everything that r has to buf, without allocating while its capacity
// lasts and as far as the reservation goes. More than limit bytes give errLimit; 0 is no
// limit.
func appendAll(ctx context.Context, memory *reservation, buf []byte, r io.Reader, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = math.MaxInt64 - 1
	}
	start := len(buf)
	for {
		remaining := limit - int64(len(buf)-start) + 1 // One more shows that the limit is exceeded.
		if len(buf) == cap(buf) {
			var failure *Error
			if buf, failure = grow(ctx, memory, buf, remaining); failure != nil {
				return buf, failure
			}
		}
		free := buf[len(buf):cap(buf)]
		n, err := r.Read(free[:min(int64(len(free)), remaining)])
		buf = buf[:len(buf)+n]
		memory.advance(n)
		switch {
		case int64(n) == remaining:
			return buf, errLimit
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// grow returns a buffer with more capacity, by up to maxGrowth bytes, as far as the
// reservation goes.
func grow(ctx context.Context, memory *reservation, buf []byte, maxGrowth int64) ([]byte, *Error) {
	more := max(minBuffer, cap(buf))
	if cap(buf) >= largeBody {
		// Old and new memory are there at the same time.
		more = cap(buf) / 4
	}
	more = int(min(int64(more), maxGrowth))
	if cap(buf) < freeBody {
		more = min(more, freeBody-cap(buf))
	}
	if failure := memory.cover(ctx, len(buf)+more); failure != nil {
		return buf, failure
	}
	return slices.Grow(buf, more), nil
}

// inflater decompresses one body. It takes about 40 kB and is reused.
type inflater struct {
	wire   wireReader
	buffer *bufio.Reader
	gzip   gzip.Reader
}

//nolint:gochecknoglobals // memory only; it holds no state of a target.
var inflaters = sync.Pool{New: func() any { return &inflater{buffer: bufio.NewReader(nil)} }}

// wireReader counts and limits the compressed bytes, and distinguishes errors of the
// connection from those of the compression.
type wireReader struct {
	body  io.Reader
	err   error
	count int64
	limit int64
}

// Read returns errLimit in place of bytes over the limit.
func (w *wireReader) Read(p []byte) (int, error) {
	if w.limit > 0 {
		p = p[:min(int64(len(p)), w.limit-w.count+1)]
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

// readGzip appends the decompressed body to buf. Both sizes are limited, since a page
// may compress 500 to 1, and a bomb more.
func (c *Client) readGzip(ctx context.Context, resp *http.Response, memory *reservation, buf []byte, limit int64) ([]byte, *Error) {
	in := inflaters.Get().(*inflater) // The pool makes nothing else.
	defer func() {
		in.wire = wireReader{}
		in.buffer.Reset(nil)
		inflaters.Put(in)
	}()
	in.wire = wireReader{body: resp.Body, limit: int64(c.config.Limits.CompressedBody)}
	in.buffer.Reset(&in.wire)
	err := in.gzip.Reset(in.buffer)
	if err == nil {
		buf, err = appendAll(ctx, memory, buf, &in.gzip, limit)
	}
	failure, failed := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return buf, nil
	case errors.Is(in.wire.err, errLimit):
		return buf, failf(ReasonBodyTooLarge, "", "the compressed body is over limits.compressed_body %s; raise it or reduce the metrics that the server exposes", c.config.Limits.CompressedBody)
	case in.wire.err != nil:
		return buf, classify(ctx, stageBody, in.wire.err)
	case errors.Is(err, errLimit):
		return buf, c.tooLarge("is", limit)
	case failed:
		return buf, failure
	}
	return buf, failf(ReasonDecompress, "", "the body is not the gzip that Content-Encoding announces: %w; check the server or a proxy in between", err)
}

// checkEnd refuses a body that may be truncated: it ends with its connection, as in
// HTTP/1.0, where a complete body looks like one that was cut, and does not end as a page
// does. One that ends with a line is compared with the previous page, by package replica.
// Whether a page may be empty depends on the kind of server, which this package
// does not know: Triton's is empty on a wrong path, trtllm-serve's before the first
// request.
func checkEnd(page *Page) *Error {
	body := page.Body
	if page.Unframed && len(body) == 0 {
		return failf(ReasonEmpty, "", "the page is empty; Triton answers so on every path but /metrics: check metrics_path")
	}
	if !page.Unframed || bytes.HasSuffix(body, []byte("\n")) || bytes.HasSuffix(body, []byte("# EOF")) {
		return nil
	}
	return failf(ReasonTruncated, "", "the body of %d bytes has no length and does not end with a newline, so it may be truncated; have the server send Content-Length or chunks", len(body))
}

// unframed reports whether only the end of the connection ends a body. A compressed
// one has an end of its own, with a checksum.
func unframed(resp *http.Response) bool {
	return resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 && encodingOf(resp) == ""
}
