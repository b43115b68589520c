package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"
)

// SelfTest is a health check of the server's own that generates a token: a question for which nobody
// has to know a model, a prompt or a format. Like any request it may be answered by one of several
// ranks while another hangs. See [Answers.MayTest].
type SelfTest struct {
	// Path answers GET.
	Path string
	// Patience is how long the server, as it is shipped, waits for its engine before it answers that
	// this failed; 0 if it waits as long as its client.
	Patience time.Duration
	// Remembered is true if the server remembers the result until the next test, and reports it where
	// it tells whether it is ready. After a failure it must be asked again until it answers, or it
	// will never be ready to others; and it must not be asked while it is paused, when it fails.
	Remembered bool
	// Counted is true if the token counts as a request of a client.
	Counted bool
	// Shown is true if pages that show steps of the engine show one for each test: a released SGLang answers 200
	// long after its scheduler has died (sgl-project/sglang#6624).
	Shown bool
}

// SelfTestResult is what the answer to a [SelfTest] shows.
type SelfTestResult uint8

const (
	// SelfTestUnknown means that it shows nothing: the release has no such check, or the answer is
	// not the server's.
	SelfTestUnknown SelfTestResult = iota
	// SelfTestAnswered means that the engine works.
	SelfTestAnswered
	// SelfTestFailed means that the engine was silent for longer than the server waits for it.
	SelfTestFailed
	// SelfTestSilent means that there was no answer in time.
	SelfTestSilent
	// SelfTestRejected means that the server could not answer its own request, as it never can for
	// some models, for example without a chat template. It convicts a server only if it did before.
	SelfTestRejected
	// SelfTestAway means that the server starts or exits, and did not ask its engine.
	SelfTestAway
)

// SelfTestAnswer is the answer to a [SelfTest].
type SelfTestAnswer struct {
	Result SelfTestResult
	// Detail describes the answer to users.
	Detail string
	// Took is how long it took.
	Took time.Duration
}

// SelfTest asks the server to test itself, until ctx is done. It reports false if the kind has no
// such question.
func (p *Endpoint) SelfTest(ctx context.Context) (SelfTestAnswer, bool) {
	test := p.engine.SelfTest
	if test.Path == "" {
		return SelfTestAnswer{}, false
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(
		ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }},
	)
	start := time.Now()
	status, _, body, err := p.briefClient().Do(ctx, http.MethodGet, p.base+test.Path, nil, answerLimit)
	a := SelfTestAnswer{Took: time.Since(start)}
	switch {
	case err == nil:
		a.Result, a.Detail = selfTestResult(status, body, a.Took)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && connected.Load():
		a.Result, a.Detail = SelfTestSilent, "does not answer within "+a.Took.Round(time.Second).String()
	default: // A server that nobody reached was not asked.
		a.Detail = "was not asked: " + err.Error()
	}
	a.Detail = test.Path + " " + a.Detail
	return a, true
}

// MayTest reports whether the server may be asked to test itself: it is one, since a follower node of
// SGLang answers 200 whatever happens, and does not say that it could not answer. Shown is true if a page on the
// same port shows that too, as beside an API that requires a key for its models.
func (a *Answers) MayTest(shown bool) bool {
	restricted := shown && slices.ContainsFunc(a.Facts.get().Problems, func(p Problem) bool { return p.Restricted })
	if a.Health == nil || a.Unconfirmed && !restricted || !a.Facts.get().Confirmed && !restricted {
		return false
	}
	switch a.Health.Said() {
	case SaidPaused, SaidStarting, SaidDraining:
		return false
	case SaidNothing, SaidReady, SaidNotReady:
	}
	return true
}

// selfTestAsked is the least time in which a server that asks its engine says that it failed: SGLang
// looks once a second (http_server.py).
const selfTestAsked = time.Second

func selfTestResult(status int, body []byte, took time.Duration) (SelfTestResult, string) {
	switch {
	case status == http.StatusOK && isWebPage(body):
		return SelfTestUnknown, "answers a web page, as of a proxy that asks for a login"
	case status == http.StatusOK:
		return SelfTestAnswered, "answers 200"
	case status == http.StatusServiceUnavailable && len(body) > 0: // The server's own is empty.
		return SelfTestUnknown, "answers " + statusText(status) + ", and not in the server's words"
	case status == http.StatusServiceUnavailable && took < selfTestAsked:
		return SelfTestAway, "answers that the server starts or exits"
	case status == http.StatusServiceUnavailable:
		return SelfTestFailed, "answers that the engine was silent for " + took.Round(time.Second).String()
	case status == http.StatusInternalServerError:
		return SelfTestRejected, "answers that the server's own request failed (" + short(body) + ")"
	}
	return SelfTestUnknown, "answers " + statusText(status)
}
