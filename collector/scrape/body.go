package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
)

const (
	// firstRead is the least buffer that a body is read into.
	firstRead = 4 << 10
	// trustedLength is how much of an announced length is allocated at once; a
	// wrong announcement costs no more.
	trustedLength = 1 << 20
)

// errLimit ends the reading of a body that is over a limit.
var errLimit = errors.New("limit")

// most is how large a body may be by a limit, 0 for none, and by the memory of
// the process.
func (c *Client) most(limit int64) int64 {
	if alone := c.resources.alone; alone > 0 && (limit <= 0 || alone < limit) {
		return alone
	}
	return limit
}

// readBody appends the body of a response to buf. The buffer comes back with
// every failure too, since it may have grown.
func (c *Client) readBody(ctx context.Context, resp *http.Response, room *reservation, buf []byte, limit int64) ([]byte, *Error) {
	limit = c.most(limit)
	room.most = limit
	defer room.settled()
	switch encoding := encodingOf(resp); encoding {
	case plainly:
		return c.readPlain(ctx, resp, room, buf, limit)
	case "gzip", "x-gzip":
		return c.readGzip(ctx, resp, room, buf, limit)
	default:
		return buf, failf(ReasonDecompress, "", "the body is encoded as %.40q; have the server honour Accept-Encoding: gzip",
			withoutSecrets(resp, resp.Header.Get("Content-Encoding")))
	}
}

// plainly is a body that is not encoded.
const plainly = ""

// encodingOf is how a body is encoded.
func encodingOf(resp *http.Response) string {
	if encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding != "identity" {
		return encoding
	}
	return plainly
}

func (c *Client) readPlain(ctx context.Context, resp *http.Response, room *reservation, buf []byte, limit int64) ([]byte, *Error) {
	if limit > 0 && resp.ContentLength > limit {
		return buf, c.tooLarge(fmt.Sprintf("has %d bytes,", resp.ContentLength), limit)
	}
	if resp.ContentLength == 0 {
		return buf, nil // As most answers about health.
	}
	if resp.ContentLength > 0 {
		room.most = int64(len(buf)) + resp.ContentLength
		size := int(min(resp.ContentLength, trustedLength))
		if failure := room.cover(ctx, len(buf)+size); failure != nil {
			return buf, failure
		}
		buf = slices.Grow(buf, size)
	}
	buf, err := appendAll(ctx, room, buf, resp.Body, limit)
	switch {
	case errors.Is(err, errLimit):
		return buf, c.tooLarge("is", limit)
	case err != nil:
		return buf, classify(ctx, stageBody, err)
	}
	return buf, nil
}

// tooLarge is a body over its limit.
func (c *Client) tooLarge(found string, limit int64) *Error {
	if limit == c.resources.alone {
		return failf(ReasonBodyTooLarge, "", "the body %s over %s, which is the most that one may have of the memory limit of the exporter; raise that (GOMEMLIMIT, or the limit of the container) or reduce the metrics that the server exposes", found, Size(limit))
	}
	return failf(ReasonBodyTooLarge, "", "the body %s over the limit of %s; raise limits.body or reduce the metrics that the server exposes", found, Size(limit))
}

// appendAll appends everything that r has to buf, without allocating while its
// capacity lasts; as far as the reservation goes. More than limit bytes give
// errLimit; 0 is no limit.
func appendAll(ctx context.Context, room *reservation, buf []byte, r io.Reader, limit int64) ([]byte, error) {
	start := len(buf)
	for {
		if len(buf) == cap(buf) {
			left := int64(math.MaxInt64)
			if limit > 0 {
				left = limit - int64(len(buf)-start) + 1
			}
			var failure *Error
			if buf, failure = grown(ctx, room, buf, left); failure != nil {
				return buf, failure
			}
		}
		free := buf[len(buf):cap(buf)]
		if left := limit - int64(len(buf)-start) + 1; limit > 0 && int64(len(free)) > left {
			free = free[:left]
		}
		n, err := r.Read(free)
		buf = buf[:len(buf)+n]
		room.moved(n)
		if limit > 0 && int64(len(buf)-start) > limit {
			return buf, errLimit
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// grown is a buffer with more room, of up to most bytes, as far as the reservation goes.
func grown(ctx context.Context, room *reservation, buf []byte, most int64) ([]byte, *Error) {
	more := max(firstRead, cap(buf))
	if cap(buf) >= largeBody {
		// Old and new memory are there at the same time.
		more = cap(buf) / 4
	}
	more = int(min(int64(more), most))
	if cap(buf) < freeBody {
		more = min(more, freeBody-cap(buf))
	}
	if failure := room.cover(ctx, len(buf)+more); failure != nil {
		return buf, failure
	}
	return slices.Grow(buf, more), nil
}

// checkEnd refuses a body that may be cut: it ends with its connection, as in
// HTTP/1.0, where an end cannot be distinguished from a cut, and does not end as
// a page does; one that ends with a line is compared with the page before it, by
// whoever has that. Whether a page may be empty depends on the kind of server, which
// this package does not know: Triton's is empty on a wrong path, trtllm-serve's
// before the first request.
func checkEnd(page *Page) *Error {
	body := page.Body
	if page.Unframed && len(body) == 0 {
		return failf(ReasonEmpty, "", "the page is empty; Triton answers so on every path but /metrics: check metrics_path")
	}
	if !page.Unframed || bytes.HasSuffix(body, []byte("\n")) || bytes.HasSuffix(body, []byte("# EOF")) {
		return nil
	}
	return failf(ReasonTruncated, "", "the body of %d bytes has no length and does not end with a newline, so it may be cut; have the server send Content-Length or chunks", len(body))
}

// unframed reports whether only the end of the connection ends a body. A compressed
// one has an end of its own, with a checksum.
func unframed(resp *http.Response) bool {
	return resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 && encodingOf(resp) == plainly
}
