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
	// maxConfigs bounds the model configs that one round requests, configsAtOnce those that it
	// requests concurrently.
	maxConfigs    = 64
	configsAtOnce = 4
	// patience bounds how long a round waits for all answers before it hands on those that are
	// there.
	patience = 500 * time.Millisecond
)

// Ask implements Engine. It requests version, models and several configs concurrently, so that a
// request that hangs delays no other.
func (*triton) Ask(ctx context.Context, client Client, address string, early func(Facts)) Facts {
	r := &tritonRound{client: client, base: address, answers: make([]func(*Facts), 2)}
	if early != nil {
		wait := patience
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(deadline)/8) // So that a first page still waits for the facts.
		}
		defer time.AfterFunc(wait, func() { r.handOn(early) }).Stop()
	}
	r.run(func() { r.ask(0, func(q *questions) func(*Facts) { return askVersion(ctx, q) }) }, func() { r.askModels(ctx) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.facts()
}

// tritonRound is one round of requests about a Triton's identity.
type tritonRound struct {
	client Client
	base   string

	mu sync.Mutex
	// answers add what was answered to the facts: about the version, the models, and the config of
	// each model. Their order does not depend on that of the responses.
	answers  []func(*Facts)
	ended    bool
	panicked any
}

// handOn hands on the facts received so far, unless the round has ended.
func (r *tritonRound) handOn(early func(Facts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		facts := r.facts()
		facts.Problems = nil // Requests that failed may be repeated.
		early(facts)
	}
}

// run runs tasks concurrently and waits for them. It keeps a panic for Ask's caller.
func (r *tritonRound) run(tasks ...func()) {
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
				}
			}()
			task()
		})
	}
	running.Wait()
}

// ask sends a request and keeps its answer and problems as the i-th.
func (r *tritonRound) ask(i int, request func(q *questions) func(*Facts)) {
	q := &questions{client: r.client, base: r.base}
	answer := request(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[i] = func(f *Facts) {
		answer(f)
		f.Problems = append(f.Problems, q.problems...)
	}
}

func askVersion(ctx context.Context, q *questions) func(*Facts) {
	var meta serverMetadata
	_, ok := q.get(ctx, "/v2", &meta)
	return func(f *Facts) {
		if ok && meta.isTriton() {
			f.EngineVersion, f.Confirmed = plainVersion(meta.Version), true
		}
	}
}

// askModels requests the list of models, then the configs of those that are ready.
func (r *tritonRound) askModels(ctx context.Context) {
	var models []ModelFacts
	r.ask(1, func(q *questions) func(*Facts) {
		var index []ModelState
		_, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index)
		models = listed(index)
		return func(f *Facts) {
			if ok {
				f.Listed, f.Models = true, slices.Clone(models)
			}
		}
	})
	r.mu.Lock()
	r.answers = append(r.answers, make([]func(*Facts), len(models))...)
	r.mu.Unlock()
	ready := make(chan int, maxConfigs)
	for i := range models {
		if models[i].State == ModelReady && len(ready) < maxConfigs {
			ready <- i
		}
	}
	close(ready)
	r.run(slices.Repeat([]func(){func() {
		for i := range ready {
			if ctx.Err() == nil {
				r.ask(2+i, func(q *questions) func(*Facts) { return askConfig(ctx, q, i, models[i].Name) })
			}
		}
	}}, min(configsAtOnce, len(ready)))...)
}

// askConfig requests the config of the i-th model.
func askConfig(ctx context.Context, q *questions, i int, name string) func(*Facts) {
	var c modelConfig
	text, ok := q.get(ctx, "/v2/models/"+url.PathEscape(name)+"/config", &c)
	hash := configHash(text)
	return func(f *Facts) {
		if ok && c.Name == name {
			c.read(f, &f.Models[i])
			f.Models[i].ConfigHash = hash
		}
	}
}

// facts returns the facts received so far.
func (r *tritonRound) facts() (f Facts) {
	for _, answer := range r.answers {
		if answer != nil {
			answer(&f)
		}
	}
	return f
}

// listed returns the models of a repository index, one per name: the ready version of several.
// Models that were never loaded, of which a large repository has thousands, come last and are
// dropped first.
func listed(index []ModelState) []ModelFacts {
	position := make(map[string]int)
	var models, never []ModelFacts
	for _, row := range index {
		name := plainText(row.Name)
		if name == "" {
			continue
		}
		m := ModelFacts{Name: name, Version: plainText(row.Version), State: row.State}
		i, repeated := position[name]
		switch {
		case row.State == "":
			never = append(never, m)
		case !repeated:
			position[name] = len(models)
			models = append(models, m)
		case row.State == ModelReady:
			models[i].State, models[i].Version = row.State, m.Version
		}
	}
	models = append(models, never...)
	return models[:min(len(models), modelsLimit)]
}

// agree implements Engine: Triton counts requests of each loaded model from its load on, so that
// page and index name the same ones.
func (t *triton) agree(p *Page, f *Facts) Trust {
	if !f.Confirmed || !f.Listed {
		return TrustUnknown
	}
	same, differ := 0, 0
	for name, loaded := range p.loaded {
		if listed := f.Model(name) != nil; loaded && listed {
			same++
		} else if loaded {
			differ++
		}
	}
	for i := range f.Models {
		if f.Models[i].State == ModelReady && !p.loaded[f.Models[i].Name] {
			differ++
		}
	}
	switch {
	case differ == 0:
		return TrustYes
	case len(p.loaded) == 0:
		return t.base.agree(p, f)
	case same == 0:
		return TrustNo
	}
	return TrustUnknown
}
