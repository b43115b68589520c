package canary

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	// answerLimit bounds everything that is read of one answer, lineLimit one
	// line of it. A frame with its options is below 2 kB.
	answerLimit = 1 << 20
	lineLimit   = 64 << 10
	// errorLimit bounds what is read of an answer that is an error.
	errorLimit = 2 << 10
)

// read follows the answer to its end.
func (a *attempt) read(ctx context.Context, resp *http.Response) *failure {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		return &failure{HTTPError, fmt.Sprintf("the server answers %d: %s", resp.StatusCode, words(resp.Body))}
	case kind == "application/json":
		return notStreamed(beginning(resp.Body))
	case kind != "text/event-stream":
		return &failure{Malformed, fmt.Sprintf("the server answers %q, no stream of events", kind)}
	}
	events := newEvents(resp.Body)
	for {
		text, err := events.next()
		now := time.Now()
		if err != nil {
			return a.ended(ctx, err, now)
		}
		if failed := a.hear(text, events.name, now); failed != nil {
			return failed
		}
		if a.heard.done {
			a.drain(events)
			return a.judge()
		}
		a.wait()
	}
}

// notStreamed judges JSON under status 200: Triton answers so with an error.
func notStreamed(text string) *failure {
	if strings.Contains(text, `"error"`) {
		return &failure{ErrorFrame, "status 200 with an error: " + plain(complaint(text))}
	}
	return &failure{Malformed, "status 200 with JSON in place of a stream: " + plain(text)}
}

// words are the first words of an answer that is an error.
func words(body io.Reader) string { return plain(complaint(beginning(body))) }

// beginning is what is read of an answer that is no stream.
func beginning(body io.Reader) string {
	// What can be read of it is enough.
	text, _ := io.ReadAll(io.LimitReader(body, errorLimit))
	return string(text)
}

// wait waits for what follows what was heard.
func (a *attempt) wait() {
	h := &a.heard
	switch all := h.all(a.tokens); {
	case all && (h.moved || !h.ending):
		a.await(a.cfg.EndTimeout, NeverEnded, fmt.Sprintf("%d frames with text came, and no end", h.frames))
		h.ending = true
	case !all && h.moved:
		a.await(a.cfg.GapTimeout, Stalled, fmt.Sprintf("%d frames with text came, and no other", h.frames))
		h.ending = false
	}
	h.moved = false
}

// ended judges the end of the body, which for Triton is the end of the stream.
func (a *attempt) ended(ctx context.Context, err error, now time.Time) *failure {
	if cause, timed := errors.AsType[*failure](context.Cause(ctx)); timed {
		return cause
	}
	switch {
	case isShort(err):
		return &failure{short, err.Error()}
	case errors.Is(err, errTooLarge):
		return &failure{Malformed, err.Error()}
	case !errors.Is(err, io.EOF):
		return &failure{Truncated, fmt.Sprintf("the connection ended after %d frames with text: %v", a.heard.frames, err)}
	case !a.question.Generate:
		return &failure{Truncated, fmt.Sprintf("the answer ended after %d frames with text and without [DONE]", a.heard.frames)}
	}
	a.heard.end = now
	return a.judge()
}

// judge returns what is wrong with a stream that ended as it should; nil for a good one.
func (a *attempt) judge() *failure {
	if a.heard.frames == 0 {
		return &failure{Empty, "the stream ended without any text; if the model ends at once, set another prompt"}
	}
	return nil
}

// drain reads what may follow [DONE] up to the end of the body: a server whose
// client hangs up there counts the request as dropped. Nothing in it counts.
func (a *attempt) drain(events *events) {
	a.await(a.cfg.EndTimeout, Timeout, "no end of the body")
	for {
		if _, err := events.next(); err != nil {
			return
		}
	}
}

// events reads server-sent events. Lines that are blank up to spaces end an
// event: trtllm-serve writes one of its frames as "data: {...} \n\n".
type events struct {
	from    *bufio.Reader
	limited *io.LimitedReader
	// name is that of the last event.
	name string
}

func newEvents(body io.Reader) *events {
	limited := &io.LimitedReader{R: body, N: answerLimit}
	return &events{from: bufio.NewReaderSize(limited, lineLimit), limited: limited}
}

// errTooLarge ends the reading of an answer that is over a limit.
var errTooLarge = errors.New("the answer is over the limit of the canary")

// next gives the data of the next event that has any, or has a name.
func (e *events) next() ([]byte, error) {
	var data []byte
	name := ""
	for {
		line, err := e.from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, errTooLarge
		case errors.Is(err, io.EOF) && e.limited.N <= 0:
			return nil, errTooLarge
		case errors.Is(err, io.EOF) && len(line) > 0:
			// A line without its end is cut.
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 && (data != nil || name != ""):
			e.name = name
			return data, nil
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimSpace(line[len("data:"):])...)
		case bytes.HasPrefix(line, []byte("event:")):
			name = strings.TrimSpace(string(line[len("event:"):]))
		case bytes.HasPrefix(line, []byte(":")) && name == "error":
			// Dynamo puts the text of an error into a comment.
			data = append(data, bytes.TrimSpace(line[1:])...)
		}
	}
}
