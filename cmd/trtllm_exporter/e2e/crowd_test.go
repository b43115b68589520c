//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// request is what a client asks for: the words of its prompt, and the tokens of the answer.
type request struct {
	// at is when a plan sends it.
	at            time.Duration
	words, tokens int
	flaw          flaw
	// model is the model, the server's usual one if empty.
	model string
	// unstreamed is set if the answer comes at once.
	unstreamed bool
}

// flaw is the defect of a request that is meant to fail; sound for none.
type flaw int

const sound flaw = 0

// outcome is what the client saw of a request.
type outcome struct {
	plan        request
	sent, ended time.Time
	// tokens holds the arrival times of tokens.
	tokens []time.Time
	status int
	// failure is the error of the response or of an event in it; done is set if the stream came to
	// its end.
	failure string
	done    bool
	// prompt is the length of the prompt according to the server.
	prompt int
}

func (o *outcome) failed() bool { return o.failure != "" }

// crowd is a number of requests at the same time.
type crowd struct {
	seen []outcome
	errs []error
	stop context.CancelFunc
	// done is closed when all requests have ended.
	done chan struct{}
	// open is the number of streams that the server may never end.
	open int
}

// startCrowd starts n requests, which end with the test.
func startCrowd(t *testing.T, n int, ask func(ctx context.Context, number int) (outcome, error)) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd{stop: cancel, seen: make([]outcome, n), errs: make([]error, n), done: make(chan struct{})}
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { c.seen[i], c.errs[i] = ask(ctx, i) })
	}
	go func() {
		defer close(c.done)
		running.Wait()
		c.errs = slices.DeleteFunc(c.errs, func(err error) bool { return err == nil })
	}()
	t.Cleanup(c.leave)
	return c
}

func (c *crowd) over() bool { return isClosed(c.done) }

func (c *crowd) wait() []outcome {
	<-c.done
	return c.seen
}

// leave ends the requests like clients that disconnect.
func (c *crowd) leave() {
	c.stop()
	c.wait()
}

// answered waits for the requests, all of which must get an answer of any kind.
func (c *crowd) answered(t *testing.T) []outcome {
	t.Helper()
	all := c.wait()
	require.Empty(t, c.errs, "requests without an answer")
	return all
}

// requireComplete waits until all requests, except those that the server may leave open, have all
// of their tokens, and returns their number.
func (c *crowd) requireComplete(t *testing.T) (tokens int) {
	t.Helper()
	planned, complete := 0, 0
	for _, o := range c.wait() {
		require.Empty(t, o.failure, "a request failed after %d of %d tokens", len(o.tokens), o.plan.tokens)
		if o.done {
			require.Len(t, o.tokens, o.plan.tokens, "tokens of a request")
			complete++
		}
		tokens += len(o.tokens)
		planned += o.plan.tokens
	}
	for _, problem := range c.errs {
		require.ErrorIs(t, problem, context.DeadlineExceeded)
	}
	require.GreaterOrEqual(t, complete, len(c.seen)-c.open, "complete requests; others: %v", c.errs)
	require.LessOrEqual(t, tokens, planned)
	return tokens
}

// repeat calls do periodically until stop is called or the test ends.
func repeat(t *testing.T, interval time.Duration, do func(ctx context.Context)) (stop func()) {
	t.Helper()
	return startCrowd(t, 1, func(ctx context.Context, _ int) (none outcome, err error) {
		for ; ctx.Err() == nil; pause(ctx, interval) {
			do(ctx)
		}
		return none, nil
	}).leave
}
