//go:build e2e_triton && linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// flaw is what is wrong with a request that is meant to fail.
type flaw int

const (
	sound    flaw = iota
	noPrompt      // The preprocessing step answers with an error.
	noTokens      // The LLM does.
	tooLarge      // The LLM does, for no KV cache could hold it.
	flaws
)

// arrival is one request of the plan.
type arrival struct {
	at            time.Duration
	words, tokens int
	flaw          flaw
}

// The plan's requests: words of a prompt, tokens of an answer, and how many
// fail of a hundred.
const (
	fewestWords, mostWords   = 5, 40
	fewestTokens, mostTokens = 4, 20
	failingPercent           = 8
)

// meanTokens is the mean answer of a request that does not fail.
const meanTokens = float64(fewestTokens+mostTokens) / 2

// poisson plans independent arrivals at a mean rate of sound requests a
// second; the same seed gives the same plan.
func poisson(seed uint64, rate float64, over time.Duration) []arrival {
	source := rand.New(rand.NewPCG(seed, seed))
	every := float64(time.Second) / (rate / (1 - failingPercent/100.0))
	var plan []arrival
	for at := time.Duration(0); ; {
		at += time.Duration(source.ExpFloat64() * every)
		if at >= over {
			return plan
		}
		a := arrival{at: at, words: fewestWords + source.IntN(mostWords-fewestWords+1), tokens: fewestTokens + source.IntN(mostTokens-fewestTokens+1)}
		if source.IntN(100) < failingPercent {
			a.flaw = sound + 1 + flaw(source.IntN(int(flaws-1)))
		}
		plan = append(plan, a)
	}
}

// body is the request in the words of the generate extension.
func (a arrival) body() ([]byte, error) {
	prompt, tokens := promptOf(a.words), a.tokens
	switch a.flaw {
	case noPrompt:
		prompt = ""
	case noTokens:
		tokens = 0
	case tooLarge:
		tokens = 100000
	default:
	}
	return json.Marshal(map[string]any{"text_input": prompt, "max_tokens": tokens})
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
	server *tritonServer
	plan   []arrival
	begun  time.Time

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

// asPlanned wants that a request had all its tokens or, if it was meant to
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

// send makes one request and reads the events of its answer as they come.
func (l *openLoop) send(ctx context.Context, a arrival) (outcome, error) {
	body, err := a.body()
	if err != nil {
		return outcome{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.server.url("/v2/models/ensemble/generate_stream"), bytes.NewReader(body))
	if err != nil {
		return outcome{}, err
	}
	seen := outcome{plan: a, sent: time.Now()}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return seen, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case strings.Contains(event, `"error"`):
			seen.failed = true
		case isData:
			seen.tokens = append(seen.tokens, time.Now())
		}
	}
	seen.ended = time.Now()
	if (response.StatusCode != http.StatusOK) != seen.failed {
		return seen, errors.New(response.Status)
	}
	return seen, lines.Err()
}
