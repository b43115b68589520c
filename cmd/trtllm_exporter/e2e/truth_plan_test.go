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

// slots are the requests in one iteration of the servers that are compared.
const slots = 4

// warmUp is how long the load lasts before the exporter comes.
const warmUp = 4 * time.Second

// level is a load by its share of the capacity.
type level struct {
	name  string
	share float64
}

// flaw is what is wrong with a request that is meant to fail; sound for nothing.
type flaw int

const sound flaw = 0

type arrival struct {
	at            time.Duration
	words, tokens int
	flaw          flaw
}

// mix is what the requests of a plan are like: words of a prompt, tokens of an
// answer, how many fail of a hundred, and in how many ways.
type mix struct {
	fewestWords, mostWords   int
	fewestTokens, mostTokens int
	failingPercent, flaws    int
}

func (m mix) meanTokens() float64 { return float64(m.fewestTokens+m.mostTokens) / 2 }

// poisson plans independent arrivals at a mean rate of sound requests a
// second; the same seed gives the same plan.
func (m mix) poisson(seed uint64, rate float64, over time.Duration) []arrival {
	source := rand.New(rand.NewPCG(seed, seed))
	every := float64(time.Second) / (rate / (1 - float64(m.failingPercent)/100))
	var plan []arrival
	for at := time.Duration(0); ; {
		at += time.Duration(source.ExpFloat64() * every)
		if at >= over {
			return plan
		}
		a := arrival{at: at, words: m.fewestWords + source.IntN(m.mostWords-m.fewestWords+1), tokens: m.fewestTokens + source.IntN(m.mostTokens-m.fewestTokens+1)}
		if source.IntN(100) < m.failingPercent {
			a.flaw = sound + 1 + flaw(source.IntN(m.flaws))
		}
		plan = append(plan, a)
	}
}

// outcome is what the client saw of one request.
type outcome struct {
	plan        arrival
	sent, ended time.Time
	// tokens are the moments at which tokens came.
	tokens []time.Time
	failed bool
}

// openLoop sends requests when the plan says so, however many are under way.
type openLoop struct {
	// send makes one request and reads its answer as it comes.
	send  func(ctx context.Context, a arrival) (outcome, error)
	plan  []arrival
	begun time.Time

	under    sync.WaitGroup
	mu       sync.Mutex
	outcomes []outcome
	problems []error
}

// run follows the plan and returns when the last request has been sent.
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

// asPlanned requires that a request had all its tokens or, if it was meant to
// fail, none: then the client's count is the truth.
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
