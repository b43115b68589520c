package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// modelsAsked bounds how many model configs one round asks for, configsAtOnce
	// how many of them side by side.
	modelsAsked   = 64
	configsAtOnce = 4
	// patience bounds how long a round waits for all answers before it hands on
	// those that are there.
	patience = 500 * time.Millisecond
)

// Ask implements Engine. Version and models are asked for side by side, and so
// are a few models' configs: a question that hangs costs no other its answer.
func (*triton) Ask(ctx context.Context, ask Asker, address string, early func(Facts)) Facts {
	r := &tritonRound{ask: ask, base: address}
	var asking sync.WaitGroup
	for _, question := range []func(context.Context){r.askVersion, r.askModels} {
		asking.Go(func() {
			defer r.catch()
			question(ctx)
		})
	}
	ended := make(chan struct{})
	go func() {
		asking.Wait()
		close(ended)
	}()
	timer := time.NewTimer(waitFor(ctx))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		if early != nil {
			known := r.facts()
			known.Problems = nil // Who has not answered may still do so.
			early(known)
		}
		<-ended
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.facts()
}

// waitFor is how long answers are waited for before those that came are handed
// on: an eighth of the round, so that they come before a first page gives up.
func waitFor(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return patience
	}
	return min(patience, time.Until(deadline)/8)
}

// tritonRound is one round of the slow questions to a Triton. Every question
// has a place of its own for its answer, so that the facts do not depend on the
// order in which answers come.
type tritonRound struct {
	ask  Asker
	base string

	mu      sync.Mutex
	version string
	shown   bool
	listed  bool
	models  []ModelFacts
	// configs are the answers by the place of their model.
	configs []configAnswer
	// problems are those of version and index.
	problems [2][]Problem
	panicked any
}

// configAnswer is what came of the question for one model's config.
type configAnswer struct {
	config   *modelConfig
	hash     string
	problems []Problem
}

// catch keeps a panic for the goroutine that put the round.
func (r *tritonRound) catch() {
	if p := recover(); p != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
	}
}

// askVersion asks who the server is.
func (r *tritonRound) askVersion(ctx context.Context) {
	q := &questions{ask: r.ask, base: r.base}
	var meta serverMetadata
	_, ok := q.get(ctx, "/v2", &meta)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems[0] = q.problems
	if ok && meta.isTriton() {
		r.version, r.shown = plainVersion(meta.Version), true
	}
}

// askModels asks for the list of models, then for the configs of those that
// are ready.
func (r *tritonRound) askModels(ctx context.Context) {
	q := &questions{ask: r.ask, base: r.base}
	var index []ModelState
	_, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index)
	models := listed(index)
	r.mu.Lock()
	r.problems[1] = q.problems
	if ok {
		r.listed, r.models, r.configs = true, models, make([]configAnswer, len(models))
	}
	r.mu.Unlock()
	if !ok {
		return
	}
	places := make(chan int, modelsAsked)
	for i := range models {
		if models[i].State == ModelReady && len(places) < modelsAsked {
			places <- i
		}
	}
	close(places)
	var asking sync.WaitGroup
	for range min(configsAtOnce, len(places)) {
		asking.Go(func() {
			defer r.catch()
			for i := range places {
				if ctx.Err() == nil {
					r.askConfig(ctx, i, models[i].Name)
				}
			}
		})
	}
	asking.Wait()
}

// askConfig asks for the config of the model at a place.
func (r *tritonRound) askConfig(ctx context.Context, place int, name string) {
	q := &questions{ask: r.ask, base: r.base}
	c := &modelConfig{}
	text, ok := q.get(ctx, "/v2/models/"+url.PathEscape(name)+"/config", c)
	answer := configAnswer{problems: q.problems}
	if ok && c.Name == name {
		answer.config, answer.hash = c, configHash(text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.configs[place] = answer
}

// facts are what the answers say that are there.
func (r *tritonRound) facts() Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Facts{
		EngineVersion: r.version, Shown: r.shown, Listed: r.listed, Models: slices.Clone(r.models),
		Problems: slices.Concat(r.problems[0], r.problems[1]),
	}
	for i := range r.configs {
		answer := &r.configs[i]
		if answer.config != nil {
			answer.config.read(&f, &f.Models[i])
			f.Models[i].ConfigHash = answer.hash
		}
		f.Problems = append(f.Problems, answer.problems...)
	}
	return f
}
