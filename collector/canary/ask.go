package canary

import (
	"cmp"
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
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// Opener sends one request and returns the response with its body unread, regardless of the
// status. An error with a method Short that returns true, also from reading the body, means that
// the exporter has too few connections.
type Opener interface {
	Open(ctx context.Context, method, url string, body []byte) (*http.Response, error)
	// Secrets knows what must not be shown of an answer.
	Secrets() *secret.Store
}

// Question is what to request from which server in which protocol.
type Question struct {
	// Base is the URL of the server's API without a trailing slash, Model the server's
	// name of the model.
	Base, Model string
	// Version is that of the model to be asked, empty for the one that the server chooses.
	Version string
	// Generate selects Triton's generate_stream instead of OpenAI's API.
	Generate bool
	// Usage, Seed and IgnoreEOS are true if a server with OpenAI's API accepts stream_options,
	// seed and ignore_eos; some servers reject unknown keys.
	Usage, Seed, IgnoreEOS bool
}

// Ask sends one request and reads the answer to its end, within the configured timeouts. If ctx
// is done first, the report has no result.
func (c *Config) Ask(ctx context.Context, open Opener, q Question) Report {
	return c.ask(ctx, open, q, c.MaxTokens)
}

// ConfirmEvery is the minimum time between two requests of [Config.Confirms].
const ConfirmEvery = time.Minute

// Confirms asks a suspected server for one token, to find out whether it answers at all.
func (c *Config) Confirms(ctx context.Context, open Opener, q Question) Report {
	return c.ask(ctx, open, q, 1)
}

func (c *Config) ask(ctx context.Context, open Opener, q Question, tokens int) Report {
	asked := time.Now()
	timeout := time.Duration(c.Timeout)
	bounded, release := withDeadline(ctx, timeout, &failure{
		Timeout,
		fmt.Sprintf("still streaming after %s", timeout),
	})
	defer release()
	a := &attempt{cfg: c, open: open, question: q, tokens: tokens, life: ctx}
	failed := a.run(bounded)
	report := a.report(failed)
	report.Asked, report.At = asked, time.Now()
	return report
}

// attempt is one request in flight. It is not safe for concurrent use.
type attempt struct {
	cfg      *Config
	open     Opener
	question Question
	// asked is true once the request itself is sent, after those that find out what the model takes.
	asked bool
	// tokens limits the answer; long is true if the answer should be that long.
	tokens int
	long   bool
	life   context.Context //nolint:containedctx // It shows at the end whether the caller gave up.
	// cancel ends the request with a cause; timer calls it when the current stage takes too long.
	cancel context.CancelCauseFunc
	timer  *deadline

	// sent is when the request was written. The trace sets it from another goroutine.
	sent      atomic.Pointer[time.Time]
	connected atomic.Bool
	// status is the HTTP status of the answer, 0 until it comes.
	status int
	answer answer
}

func (a *attempt) run(ctx context.Context) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.cancel = cancel
	a.await(a.cfg.FirstTokenTimeout, NoFirstToken, "no text")
	defer func() { a.timer.stop() }()
	address, body, failed := a.request(ctx)
	if failed != nil {
		return failed
	}
	start := time.Now()
	a.sent.Store(&start)
	a.asked = true
	resp, err := a.open.Open(a.traced(ctx), http.MethodPost, address, body)
	if err != nil {
		return a.unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return a.read(ctx, resp)
}

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

func (a *attempt) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			now := time.Now()
			a.sent.Store(&now)
		},
	})
}

func (a *attempt) unanswered(ctx context.Context, err error) *failure {
	failed := interrupted(ctx, err)
	switch {
	case failed == nil:
		return &failure{Connect, err.Error()}
	case failed.result != noConnection && !a.connected.Load():
		return &failure{Connect, "no connection in time"}
	}
	return failed
}

// interrupted returns the reason why the exporter itself ended the request, nil if it did not.
func interrupted(ctx context.Context, err error) *failure {
	short, ok := errors.AsType[interface {
		error
		Short() bool
	}](err)
	if ok && short.Short() {
		return &failure{noConnection, err.Error()}
	}
	cause, _ := errors.AsType[*failure](context.Cause(ctx))
	return cause
}

func (a *attempt) report(failed *failure) Report {
	if failed != nil {
		if a.life.Err() != nil || failed.result == noConnection {
			return Report{}
		}
		if failed.result == Timeout && a.answer.frames == 0 {
			// Whichever timer ends it, without any text it is the same.
			failed = &failure{NoFirstToken, fmt.Sprintf("no text within %s", time.Duration(a.cfg.Timeout))}
		}
		return Report{
			Result: failed.result,
			Reason: plain(a.open.Secrets().Hide(failed.reason)),
			Quota:  a.status == http.StatusTooManyRequests,
			Barred: failed.result == Refused && bars(a.status),
			Frames: a.answer.frames,
		}
	}
	sent := *a.sent.Load()
	answer := &a.answer
	return Report{
		Result:           OK,
		Frames:           answer.frames,
		Tokens:           cmp.Or(answer.usage, answer.frames),
		Output:           answer.output(),
		FirstToken:       answer.first.Sub(sent),
		Duration:         answer.end.Sub(sent),
		LongestGap:       answer.gap,
		Tail:             answer.end.Sub(answer.last),
		EngineQueue:      answer.queued,
		EngineFirstToken: answer.engineFirst,
	}
}

// bars reports whether a status says that somebody may not ask, or that there is nothing to be asked.
func bars(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
}

func modelPath(name string) string { return "/v2/models/" + url.PathEscape(name) }

func plain(text string) string {
	const maxReason = 300
	line, truncated := engine.OneLine(text, maxReason)
	if truncated {
		line += "..."
	}
	return line
}

// await starts the timer of the next stage, which ends the request with the given result.
func (a *attempt) await(wait model.Duration, result Result, missing string) {
	a.timer.stop()
	timeout := time.Duration(wait)
	a.timer = newDeadline(timeout, func() {
		a.cancel(&failure{
			result, fmt.Sprintf("%s within %s", missing, timeout),
		})
	})
}
