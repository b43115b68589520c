package canary

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// left ends a request as it was meant to end: by its client, in the middle.
const left Result = "left"

// Departure is how a request went whose client was to leave in the middle.
type Departure struct {
	// At is when the connection was closed; zero where it never came to that,
	// and Reason says why, for people.
	At     time.Time
	Reason string
	// Alone is until when the server cannot have ended the request by itself.
	Alone time.Time
}

// Leave sends a request for a long answer, and hangs up in the middle when seen
// is closed, which has to happen within CancelWithin of the first token. Pace is
// the time a token takes, as an earlier answer showed.
func (c *Config) Leave(ctx context.Context, open Opener, q Question, pace time.Duration, seen <-chan struct{}) Departure {
	whole := time.Duration(c.FirstTokenTimeout + c.CancelWithin)
	bounded, release := context.WithTimeoutCause(ctx, whole, &failure{Timeout, fmt.Sprintf("no page showed the request in flight within %s", whole)})
	defer release()
	bounded, hangUp := context.WithCancelCause(bounded)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer hangUp(nil)
	watching.Go(func() {
		select {
		case <-seen:
			hangUp(&failure{result: left})
		case <-bounded.Done():
		}
	})
	a := &attempt{cfg: c, open: open, question: q, tokens: c.CancelTokens, long: true, life: ctx}
	failed := a.run(bounded)
	switch now := time.Now(); {
	case ctx.Err() != nil:
		return Departure{Reason: "the exporter gave it up"}
	case failed == nil:
		return Departure{Reason: fmt.Sprintf("the answer ended by itself after %d frames with text; raise cancel_tokens", a.heard.frames)}
	case failed.result != left:
		return Departure{Reason: failed.Error()}
	case a.late == nil:
		return Departure{Reason: "a page showed requests in flight before it was sent"}
	default:
		return Departure{At: now, Alone: a.alone(pace)}
	}
}

// alone is when half of the time is over that the server needs for all tokens: it
// may become faster, and its frames may hold more tokens than before.
func (a *attempt) alone(pace time.Duration) time.Time {
	if h := &a.heard; h.frames > 1 {
		pace = min(pace, h.last.Sub(h.first)/time.Duration(h.frames-1))
	}
	return a.sent.Load().Add(pace * time.Duration(a.tokens) / 2)
}

// Pace is the time that the server took for a token of a good answer.
func (r *Report) Pace() time.Duration {
	if r.Frames > 1 && r.Tokens > 1 {
		return (r.Duration - r.FirstToken - r.Tail) / time.Duration(r.Tokens-1)
	}
	return r.Duration / time.Duration(max(1, r.Tokens))
}
