package canary

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// canceled is the result of a request that the canary canceled as intended.
const canceled Result = "canceled"

// Cancellation is the outcome of a request that was to be canceled.
type Cancellation struct {
	// At is when the connection was closed, zero if it was not, for which there is a Reason.
	At     time.Time
	Reason string
	// SelfEnd is when the server might have completed the request anyway.
	SelfEnd time.Time
}

// Cancel requests a long answer and closes the connection when seen is closed, which must happen
// within CancelWithin of the first token. Pace is the time per token of an earlier answer.
func (c *Config) Cancel(
	ctx context.Context,
	open Opener,
	q Question,
	pace time.Duration,
	seen <-chan struct{},
) Cancellation {
	timeout := time.Duration(c.FirstTokenTimeout + c.CancelWithin)
	bounded, release := withDeadline(ctx, timeout, &failure{
		Timeout,
		fmt.Sprintf("no page showed the request in flight within %s", timeout),
	})
	defer release()
	bounded, hangUp := context.WithCancelCause(bounded)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer hangUp(nil)
	watching.Go(func() {
		select {
		case <-seen:
			hangUp(&failure{result: canceled})
		case <-bounded.Done():
		}
	})
	a := &attempt{cfg: c, open: open, question: q, tokens: c.CancelTokens, long: true, life: ctx}
	failed := a.run(bounded)
	switch now := time.Now(); {
	case ctx.Err() != nil:
		return Cancellation{Reason: "the exporter gave up the request"}
	case failed == nil:
		return Cancellation{Reason: fmt.Sprintf("the answer ended by itself after %d frames with text; raise "+
			"cancel_tokens", a.answer.frames)}
	case failed.result != canceled:
		return Cancellation{Reason: failed.Error()}
	case !a.asked:
		return Cancellation{Reason: "a page showed requests in flight before it was sent"}
	default:
		return Cancellation{At: now, SelfEnd: a.selfEnd(pace)}
	}
}

// selfEnd returns when the server might have completed the request: after half of the time for
// all tokens, because it may speed up and a frame may contain several tokens.
func (a *attempt) selfEnd(pace time.Duration) time.Time {
	if answer := &a.answer; answer.frames > 1 {
		pace = min(pace, answer.last.Sub(answer.first)/time.Duration(answer.frames-1))
	}
	return a.sent.Load().Add(pace * time.Duration(a.tokens) / 2)
}

// pace returns the time per token of a good answer.
func (r *Report) pace() time.Duration {
	if r.Frames > 1 && r.Tokens > 1 {
		return (r.Duration - r.FirstToken - r.Tail) / time.Duration(r.Tokens-1)
	}
	return r.Duration / time.Duration(max(1, r.Tokens))
}
