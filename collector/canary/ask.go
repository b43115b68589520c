package canary

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Opener sends one request and hands the answer out with its body unread; every
// status is an answer. It brings credentials, TLS and the rules on addresses. A
// failure, of reading too, whose method Short is true is the exporter's own: it has
// too few connections.
type Opener interface {
	Open(ctx context.Context, method, url string, body []byte) (*http.Response, error)
}

// Question is whom to ask and in which protocol.
type Question struct {
	// Base is the server's API without a trailing slash, Model its own name of
	// the model.
	Base, Model string
	// Generate chooses Triton's generate_stream, else it is OpenAI's API.
	Generate bool
	// Usage and Seed say that a server with OpenAI's API knows the request's
	// stream_options and seed; some refuse what they do not know.
	Usage, Seed bool
	// IgnoreEOS says that it knows ignore_eos: an answer does not end before it has
	// all tokens.
	IgnoreEOS bool
}

// Ask sends one request and reads its answer to the end. It returns by the
// deadline of the configuration, or when ctx ends; then the report has no
// result.
func (c *Config) Ask(ctx context.Context, open Opener, q Question) Report {
	return c.ask(ctx, open, q, c.MaxTokens)
}

// ConfirmEvery is the shortest time between two requests of [Config.ConfirmStall].
const ConfirmEvery = time.Minute

// ConfirmStall is Ask with one token, to see whether a server answers at all.
func (c *Config) ConfirmStall(ctx context.Context, open Opener, q Question) Report {
	return c.ask(ctx, open, q, 1)
}

// ask sends one request for that many tokens.
func (c *Config) ask(ctx context.Context, open Opener, q Question, tokens int) Report {
	whole := time.Duration(c.Timeout)
	bounded, release := context.WithTimeoutCause(ctx, whole, &failure{Timeout, fmt.Sprintf("not at its end after %s", whole)})
	defer release()
	a := &attempt{cfg: c, open: open, question: q, tokens: tokens, life: ctx}
	failed := a.run(bounded)
	report := a.report(failed)
	report.At = time.Now()
	return report
}

// attempt is one request under way. It belongs to one goroutine.
type attempt struct {
	cfg      *Config
	open     Opener
	question Question
	// tokens is how long the answer may be; long says that it should be as long.
	tokens int
	long   bool
	life   context.Context //nolint:containedctx // Whether the loop goes on is asked at the end.
	// cancel ends the request with its cause, which late does when the time is over
	// of what is waited for now.
	cancel context.CancelCauseFunc
	late   *time.Timer

	// sent is when the request was written; the trace writes it while the
	// request is under way.
	sent      atomic.Pointer[time.Time]
	connected atomic.Bool
	heard     partialAnswer
}

// run asks and reads; nil when all is well.
func (a *attempt) run(ctx context.Context) *failure {
	address, body, failed := a.request(ctx)
	if failed != nil {
		return failed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.cancel = cancel
	a.await(a.cfg.FirstTokenTimeout, NoFirstToken, "no text")
	defer func() { a.late.Stop() }()
	begun := time.Now()
	a.sent.Store(&begun)
	resp, err := a.open.Open(a.traced(ctx), http.MethodPost, address, body)
	if err != nil {
		return a.unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // How it ends is of no interest any more.
	return a.read(ctx, resp)
}

// request is what the protocol sends.
func (a *attempt) request(ctx context.Context) (address string, body []byte, failed *failure) {
	if a.question.Generate {
		return a.generateRequest(ctx)
	}
	path := "/v1/chat/completions"
	if a.cfg.Endpoint == EndpointCompletions {
		path = "/v1/completions"
	}
	return a.question.Base + path, a.openAIBody(), nil
}

// traced notes when a connection was there and when the request was written.
func (a *attempt) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			now := time.Now()
			a.sent.Store(&now)
		},
	})
}

// unanswered says why there are no response headers.
func (a *attempt) unanswered(ctx context.Context, err error) *failure {
	cause, timed := errors.AsType[*failure](context.Cause(ctx))
	switch {
	case isShort(err):
		return &failure{short, err.Error()}
	case timed && a.connected.Load():
		return cause
	case timed:
		return &failure{Connect, "no connection in time"}
	}
	return &failure{Connect, err.Error()}
}

// isShort reports whether the exporter had no connection for a request.
func isShort(err error) bool {
	own, ok := errors.AsType[interface {
		error
		Short() bool
	}](err)
	return ok && own.Short()
}

// report puts together what was seen.
func (a *attempt) report(failed *failure) Report {
	if failed != nil {
		if a.life.Err() != nil || failed.result == short {
			return Report{}
		}
		return Report{Result: failed.result, Reason: plain(failed.reason), Frames: a.heard.frames}
	}
	sent := *a.sent.Load()
	h := &a.heard
	return Report{
		Result: OK, Frames: h.frames, Tokens: h.tokens(), Output: h.output(),
		FirstToken: h.first.Sub(sent), Duration: h.end.Sub(sent), LongestGap: h.gap, Tail: h.end.Sub(h.last),
		EngineQueue: h.queued, EngineFirstToken: h.engineFirst,
	}
}

// modelPath is the path of a model of Triton.
func modelPath(name string) string { return "/v2/models/" + url.PathEscape(name) }

// longestReason bounds what a report says.
const longestReason = 300

// plain makes one short line of a server's words.
func plain(text string) string {
	line, cut := engine.OneLine(text, longestReason)
	if cut {
		line += "..."
	}
	return line
}

// await gives what is waited for from now on its time, and ends the request with
// that result when it did not come.
func (a *attempt) await(wait model.Duration, result Result, missing string) {
	if a.late != nil {
		a.late.Stop()
	}
	within := time.Duration(wait)
	a.late = time.AfterFunc(within, func() { a.cancel(&failure{result, fmt.Sprintf("%s within %s", missing, within)}) })
}
