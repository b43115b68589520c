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

var (
	updateTruth = flag.Bool("update", false, "write the errors measured against the server into docs/dev/accuracy.md")
	loadFor     = flag.Duration("load", time.Minute, "how long each level of load lasts")
)

// slots is the number of requests per iteration of the compared servers.
const slots = 4

// warmUp is how long the load runs before the exporter starts.
const warmUp = 4 * time.Second

// level is a load relative to the capacity.
type level struct {
	name  string
	share float64
}

// flaw is the defect of a request that is meant to fail; sound for none.
type flaw int

const sound flaw = 0

type arrival struct {
	at            time.Duration
	words, tokens int
	flaw          flaw
}

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
func (m mix) poisson(seed uint64, rate float64, over time.Duration) []arrival {
	source := rand.New(rand.NewPCG(seed, seed))
	every := float64(time.Second) / (rate / (1 - float64(m.failingPercent)/100))
	var plan []arrival
	for start := time.Duration(0); ; {
		start += time.Duration(source.ExpFloat64() * every)
		if start >= over {
			return plan
		}
		a := arrival{
			at:     start,
			words:  m.fewestWords + source.IntN(m.mostWords-m.fewestWords+1),
			tokens: m.fewestTokens + source.IntN(m.mostTokens-m.fewestTokens+1),
		}
		if source.IntN(100) < m.failingPercent {
			a.flaw = sound + 1 + flaw(source.IntN(m.flaws))
		}
		plan = append(plan, a)
	}
}

// outcome is what the client saw of a request.
type outcome struct {
	plan        arrival
	sent, ended time.Time
	// tokens holds the arrival times of tokens.
	tokens []time.Time
	failed bool
}

// openLoop sends requests as planned, whatever number is in flight.
type openLoop struct {
	// send sends a request and reads its answer as it arrives.
	send  func(ctx context.Context, a arrival) (outcome, error)
	plan  []arrival
	begun time.Time

	under    sync.WaitGroup
	mu       sync.Mutex
	outcomes []outcome
	problems []error
}

// run executes the plan and returns when the last request has been sent.
func (l *openLoop) run(ctx context.Context) {
	l.begun = time.Now()
	for _, a := range l.plan {
		pause(ctx, time.Until(l.begun.Add(a.at)))
		if ctx.Err() != nil {
			return
		}
		l.under.Go(func() {
			seen, err := l.send(ctx, a)
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
	if o.failed != (o.plan.flaw != sound) || len(o.tokens) != want {
		return fmt.Errorf("failed %t with %d tokens, planned %+v", o.failed, len(o.tokens), o.plan)
	}
	return nil
}
