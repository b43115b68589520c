package scrape

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

const (
	minBuffer = 4 << 10
	// maxTrustedLength bounds the allocation for a Content-Length before any byte arrived.
	maxTrustedLength = 1 << 20
)

// maxBody returns the smaller of limit, 0 for none, and the limit of the process.
func (c *Client) maxBody(limit int64) int64 {
	if ceiling := c.resources.maxBody; ceiling > 0 && (limit <= 0 || ceiling < limit) {
		return ceiling
	}
	return limit
}

// readBody appends the body of a response to buf. It returns buf even if it fails.
func (c *Client) readBody(
	s *scope, resp *http.Response, memory *reservation, buf []byte, limit int64,
) ([]byte, *Error) {
	limit = c.maxBody(limit)
	memory.maxSize = limit
	defer memory.settle()
	switch encodingOf(resp) {
	case "":
		return c.readPlain(s, resp, memory, buf, limit)
	case "gzip", "x-gzip":
		return c.readGzip(s, resp, memory, buf, limit)
	default:
		return buf, failf(
			ReasonDecompress, "", "the body is encoded as %q; have the server honour Accept-Encoding: gzip",
			resp.Header.Get("Content-Encoding"),
		)
	}
}

func encodingOf(resp *http.Response) string {
	if encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding != "identity" {
		return encoding
	}
	return ""
}

func (c *Client) readPlain(
	ctx context.Context, resp *http.Response, memory *reservation, buf []byte, limit int64,
) ([]byte, *Error) {
	switch length := resp.ContentLength; {
	case limit > 0 && length > limit:
		return buf, c.tooLarge(fmt.Sprintf("has %d bytes,", length), limit)
	case length == 0:
		return buf, nil // Like most health responses.
	case length > 0:
		memory.maxSize = int64(len(buf)) + length
		size := int(min(length, maxTrustedLength))
		if failure := memory.cover(ctx, len(buf)+size); failure != nil {
			return buf, failure
		}
		buf = slices.Grow(buf, size)
	}
	buf, err := appendAll(ctx, memory, buf, limited(resp.Body, limit))
	switch {
	case err == nil:
		return buf, nil
	case isOverLimit(err):
		return buf, c.tooLarge("is", limit)
	}
	return buf, classify(ctx, stageBody, err)
}

func (c *Client) tooLarge(predicate string, limit int64) *Error {
	if limit == c.resources.maxBody {
		return failf(
			ReasonBodyTooLarge, "",
			"the body %s over %s, the share of the exporter's memory limit for one body; raise that (GOMEMLIMIT, or "+
				"the limit of the container) or reduce the metrics that the server exposes",
			predicate, Size(limit),
		)
	}
	return failf(
		ReasonBodyTooLarge, "",
		"the body %s over the limit of %s; raise limits.body or reduce the metrics that the server exposes", predicate,
		Size(limit),
	)
}

func limited(r io.Reader, limit int64) io.Reader {
	if limit <= 0 {
		return r
	}
	return http.MaxBytesReader(nil, io.NopCloser(r), limit)
}

func isOverLimit(err error) bool { return hasType[*http.MaxBytesError](err) }

// appendAll reads r to its end and appends it to buf, as far as the reservation allows.
func appendAll(ctx context.Context, memory *reservation, buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			var failure *Error
			if buf, failure = grow(ctx, memory, buf); failure != nil {
				return buf, failure
			}
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		memory.advance(n)
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

func grow(ctx context.Context, memory *reservation, buf []byte) ([]byte, *Error) {
	growth := max(minBuffer, cap(buf))
	if cap(buf) >= largeBody {
		// Both the old and the new buffer exist while it is copied.
		growth = cap(buf) / 4
	}
	if cap(buf) < freeBody {
		growth = min(growth, freeBody-cap(buf))
	}
	if failure := memory.cover(ctx, len(buf)+growth); failure != nil {
		return buf, failure
	}
	return slices.Grow(buf, growth), nil
}

// inflater decompresses one body. It takes about 40 kB and is reused.
type inflater struct {
	wire   wireReader
	buffer *bufio.Reader
	gzip   gzip.Reader
}

//nolint:gochecknoglobals // memory only; it holds no state of a target.
var inflaters = sync.Pool{New: func() any { return &inflater{buffer: bufio.NewReader(nil)} }}

// wireReader remembers errors of the connection, to tell them from errors of the compression.
type wireReader struct {
	io.Reader

	err error
}

func (w *wireReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// Read reads the members of a gzip one after the other: the library takes the header of one that is cut off
// for the end of the body.
func (in *inflater) Read(into []byte) (int, error) {
	n, err := in.gzip.Read(into)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if _, end := in.buffer.Peek(1); end != nil {
		return n, end
	}
	if err = in.gzip.Reset(in.buffer); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	in.gzip.Multistream(false)
	return n, err
}

// readGzip appends the decompressed body to buf. Both sizes are limited: an ordinary page may
// compress 500 to 1, a bomb even more.
func (c *Client) readGzip(
	ctx context.Context, resp *http.Response, memory *reservation, buf []byte, limit int64,
) ([]byte, *Error) {
	in := inflaters.Get().(*inflater) // The pool holds nothing else.
	defer func() {
		in.wire = wireReader{}
		in.buffer.Reset(nil)
		inflaters.Put(in)
	}()
	in.wire.Reader = limited(resp.Body, int64(c.config.Limits.CompressedBody))
	in.buffer.Reset(&in.wire)
	err := in.gzip.Reset(in.buffer)
	if err == nil {
		in.gzip.Multistream(false)
		buf, err = appendAll(ctx, memory, buf, limited(in, limit))
	}
	failure, failed := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return buf, nil
	case isOverLimit(in.wire.err):
		return buf, failf(
			ReasonBodyTooLarge, "",
			"the compressed body is over limits.compressed_body %s; raise it or reduce the metrics "+
				"that the server exposes",
			c.config.Limits.CompressedBody,
		)
	case in.wire.err != nil:
		return buf, classify(ctx, stageBody, in.wire.err)
	case isOverLimit(err):
		return buf, c.tooLarge("is", limit)
	case failed:
		return buf, failure
	}
	return buf, failf(
		ReasonDecompress, "",
		"the body is not the gzip that Content-Encoding announces: %w; check the server or a proxy in between", err,
	)
}

// checkEnd rejects a body that only the end of its connection delimits and that does not end like
// a page, as it may be truncated. If such a body ends with a newline, package replica compares it
// with the previous page; that package also knows which servers may have an empty page.
func checkEnd(page *Page) *Error {
	body := page.Body
	if page.Unframed && len(body) == 0 {
		return failf(
			ReasonEmpty, "", "the page is empty; Triton answers so on every path but /metrics: check metrics_path",
		)
	}
	if !page.Unframed || bytes.HasSuffix(body, []byte("\n")) || bytes.HasSuffix(body, []byte("# EOF")) {
		return nil
	}
	return failf(
		ReasonTruncated, "",
		"the body of %d bytes has no length and does not end with a newline, so it may be truncated; have the "+
			"server send Content-Length or chunks",
		len(body),
	)
}

// unframed reports whether only the end of the connection delimits the body. A compressed
// body has a checksum.
func unframed(resp *http.Response) bool {
	return resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 && encodingOf(resp) == ""
}
