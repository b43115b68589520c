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
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Limits of an answer, a line of it, and an error, in bytes. A frame with all options is below 2
// kB.
const (
	maxAnswer = 1 << 20
	maxLine   = 64 << 10
	maxError  = 2 << 10
)

func (a *attempt) read(ctx context.Context, resp *http.Response) *failure {
	a.status = resp.StatusCode
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		text := a.start(resp.Body)
		_, event := eventData(text)
		return &failure{
			statusResult(resp.StatusCode, text, a.question.Generate && event),
			fmt.Sprintf("the server answers %d: %s", resp.StatusCode, errorText(text)),
		}
	case resp.Header.Get("Content-Encoding") != "":
		return &failure{Malformed, "the answer is compressed, for which nobody asked: " +
			resp.Header.Get("Content-Encoding")}
	case kind == "application/json":
		return notStreamed(a.start(resp.Body))
	case kind != "text/event-stream":
		return &failure{Malformed, fmt.Sprintf("the server answers %q, which is not an event stream",
			resp.Header.Get("Content-Type"))}
	}
	limited := &io.LimitedReader{R: resp.Body, N: maxAnswer}
	events := &events{from: bufio.NewReaderSize(limited, maxLine), limited: limited}
	for {
		text, err := events.next()
		now := time.Now()
		if err != nil {
			return a.ended(ctx, err, now)
		}
		if failed := a.addEvent(text, events.name, now); failed != nil {
			return failed
		}
		if !a.answer.end.IsZero() {
			a.drain(events)
			return a.checkText()
		}
		a.awaitNext()
	}
}

// statusResult returns the result for a status other than 200 and its text. It is byModel if a model of Triton
// answered with an error: the answer is an event then, and its status means nothing (server 2.41 to 2.71,
// src/http_server.cc, InferResponseComplete: 400, or the code of an error that was freed before). A request that is
// rejected before a model gets it is answered with an object. A web page is a gateway's, and so is a status that
// HTTP does not define, such as 520 to 530: a server has a web framework, which knows no other ones.
func statusResult(status int, text string, byModel bool) Result {
	undefined := status >= http.StatusInternalServerError && http.StatusText(status) == ""
	switch class := classOf(status); {
	case class == engine.ClassOverload:
		return Overload
	case (engine.FromGateway(status, []byte(text)) || undefined) && !byModel:
		return Connect
	case class == engine.ClassServer, byModel:
		return HTTPError
	}
	return Refused
}

// errorFrame returns the failure for an error in an answer with status 200, which may contain the status that it
// should have had.
func errorFrame(what, text string) *failure {
	result := ErrorFrame
	switch classOf(errorCode(text)) { //nolint:exhaustive // The others are failures of the server.
	case engine.ClassOverload:
		result = Overload
	case engine.ClassClient:
		result = Refused
	}
	return &failure{result, what + errorText(text)}
}

// classOf returns the class of a status, unknown if it is none.
func classOf(status int) engine.Class {
	if status < 100 || status > 599 {
		return engine.ClassUnknown
	}
	byCode := engine.Outcome{Codes: true}
	return byCode.Class(strconv.Itoa(status))
}

// notStreamed returns the failure for JSON with status 200, which is how Triton reports some
// errors.
func notStreamed(text string) *failure {
	if strings.Contains(text, `"error"`) {
		return errorFrame("status 200 with an error: ", text)
	}
	return &failure{Malformed, "status 200 with JSON instead of a stream: " + text}
}

// start returns the start of a body, without secrets.
func (a *attempt) start(body io.Reader) string {
	return a.open.Secrets().ReadStart(body, maxError)
}

func (a *attempt) awaitNext() {
	answer := &a.answer
	switch all := answer.finished || max(answer.frames, answer.usage) >= a.tokens; {
	case all && (answer.progressed || !answer.ending):
		a.await(a.cfg.EndTimeout, NeverEnded, fmt.Sprintf("%d frames with text came, and no end", answer.frames))
		answer.ending = true
	case !all && answer.progressed:
		a.await(a.cfg.GapTimeout, Stalled, fmt.Sprintf("%d frames with text came, and no other", answer.frames))
		answer.ending = false
	}
	answer.progressed = false
}

// ended returns the failure if the body ended too early. For Triton the end of the body is the
// end of the stream.
func (a *attempt) ended(ctx context.Context, err error, now time.Time) *failure {
	switch failed := interrupted(ctx, err); {
	case failed != nil:
		return failed
	case errors.Is(err, errTooLarge):
		return &failure{Malformed, err.Error()}
	case !errors.Is(err, io.EOF):
		return &failure{
			Truncated,
			fmt.Sprintf("the connection ended after %d frames with text: %v", a.answer.frames, err),
		}
	case !a.question.Generate:
		return &failure{
			Truncated,
			fmt.Sprintf("the answer ended after %d frames with text and without [DONE]", a.answer.frames),
		}
	}
	a.answer.end = now
	return a.checkText()
}

func (a *attempt) checkText() *failure {
	if a.answer.frames == 0 {
		return &failure{Empty, "the stream ended without any text; if the model ends at once, set another prompt"}
	}
	return nil
}

// drain reads to the end of the body after [DONE]: if the client disconnects earlier, the server
// counts the request as dropped.
func (a *attempt) drain(events *events) {
	a.await(a.cfg.EndTimeout, Timeout, "no end of the body")
	for {
		if _, err := events.next(); err != nil {
			return
		}
	}
}

// events reads server-sent events. A line of spaces also ends an event: trtllm-serve writes one
// of its frames as "data: {...} \n\n".
type events struct {
	from    *bufio.Reader
	limited *io.LimitedReader
	// name is the name of the last event.
	name string
}

var errTooLarge = errors.New("the answer is over the limit of the canary")

// next returns the data of the next event that has data or a name.
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
			return nil, io.ErrUnexpectedEOF // The line is truncated.
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
			// Dynamo sends the text of an error as a comment.
			data = append(data, bytes.TrimSpace(line[1:])...)
		}
	}
}
