//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

var loadFor = flag.Duration("load", time.Minute, "how long each level of load lasts")

// warmUp is how long the load runs before the exporter starts.
const warmUp = 4 * time.Second

// mix describes the requests of a plan: words of prompts, tokens of answers, failures per
// hundred, and their kinds.
type mix struct {
	fewestWords, mostWords   int
	fewestTokens, mostTokens int
	failingPercent, flaws    int
}

func (m mix) meanTokens() float64 { return float64(m.fewestTokens+m.mostTokens) / 2 }

// poisson plans independent arrivals of sound requests at a mean rate per second. The same seed
// returns the same plan.
func (m mix) poisson(seed uint64, rate float64, over time.Duration) []request {
	source := rand.New(rand.NewPCG(seed, seed))
	every := float64(time.Second) / (rate / (1 - float64(m.failingPercent)/100))
	var plan []request
	for start := time.Duration(0); ; {
		start += time.Duration(source.ExpFloat64() * every)
		if start >= over {
			return plan
		}
		r := request{
			at:     start,
			words:  m.fewestWords + source.IntN(m.mostWords-m.fewestWords+1),
			tokens: m.fewestTokens + source.IntN(m.mostTokens-m.fewestTokens+1),
		}
		if source.IntN(100) < m.failingPercent {
			r.flaw = sound + 1 + flaw(source.IntN(m.flaws))
		}
		plan = append(plan, r)
	}
}

// openLoop sends requests as planned, whatever number is in flight.
type openLoop struct {
	server *server
	plan   []request
	begun  time.Time

	under    sync.WaitGroup
	mu       sync.Mutex
	outcomes []outcome
	problems []error
}

// run executes the plan and returns when the last request has been sent.
func (l *openLoop) run(ctx context.Context) {
	l.begun = time.Now()
	for _, r := range l.plan {
		pause(ctx, time.Until(l.begun.Add(r.at)))
		if ctx.Err() != nil {
			return
		}
		l.under.Go(func() {
			seen, err := l.server.send(ctx, int(r.at.Microseconds()), r)
			l.mu.Lock()
			defer l.mu.Unlock()
			if err == nil {
				err = seen.asPlanned()
			}
			if err != nil {
				l.problems = append(l.problems, err)
			}
			l.outcomes = append(l.outcomes, seen)
		})
	}
}

// asPlanned requires that a request got all its tokens or, if it was meant to fail, none, so that
// the client's count is the truth.
func (o *outcome) asPlanned() error {
	want := o.plan.tokens
	if o.plan.flaw != sound {
		want = 0
	}
	switch {
	case o.failed() != (o.plan.flaw != sound) || len(o.tokens) != want:
		return fmt.Errorf("failed: %q, with %d tokens, planned %+v", o.failure, len(o.tokens), o.plan)
	case !o.failed() && (!o.done || o.prompt != 0 && o.prompt != o.plan.words):
		return fmt.Errorf("came to its end: %t, with a prompt of %d words, planned %+v", o.done, o.prompt, o.plan)
	}
	return nil
}
