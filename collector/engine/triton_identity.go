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
	r := &tritonRound{client: client, base: address}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(func() { r.askVersion(ctx) }, func() { r.askModels(ctx) })
	}()
	wait := patience
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/8) // So that a first page still waits for the facts.
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		if early != nil {
			facts := r.facts()
			facts.Problems = nil // Requests that failed may be repeated.
			early(facts)
		}
		<-ended
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.facts()
}

// tritonRound is one round of requests about a Triton's identity. Each request has a place for its
// answer, so that facts do not depend on the order of answers.
type tritonRound struct {
	client Client
	base   string

	mu        sync.Mutex
	version   string
	confirmed bool
	listed    bool
	models    []ModelFacts
	// configs are the answers about models, by the index of the model.
	configs []configAnswer
	// problems are those of version and of models.
	problems [2][]Problem
	panicked any
}

// configAnswer is the answer about the config of one model.
type configAnswer struct {
	config   *modelConfig
	hash     string
	problems []Problem
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

func (r *tritonRound) askVersion(ctx context.Context) {
	q := &questions{client: r.client, base: r.base}
	var meta serverMetadata
	_, ok := q.get(ctx, "/v2", &meta)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems[0] = q.problems
	if ok && meta.isTriton() {
		r.version, r.confirmed = plainVersion(meta.Version), true
	}
}

// askModels requests the list of models, then the configs of those that are ready.
func (r *tritonRound) askModels(ctx context.Context) {
	q := &questions{client: r.client, base: r.base}
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
				r.askConfig(ctx, i, models[i].Name)
			}
		}
	}}, min(configsAtOnce, len(ready)))...)
}

// askConfig requests the config of the i-th model.
func (r *tritonRound) askConfig(ctx context.Context, i int, name string) {
	q := &questions{client: r.client, base: r.base}
	c := &modelConfig{}
	text, ok := q.get(ctx, "/v2/models/"+url.PathEscape(name)+"/config", c)
	answer := configAnswer{problems: q.problems}
	if ok && c.Name == name {
		answer.config, answer.hash = c, configHash(text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.configs[i] = answer
}

// facts returns the facts received so far.
func (r *tritonRound) facts() Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Facts{
		EngineVersion: r.version, Confirmed: r.confirmed, Listed: r.listed, Models: slices.Clone(r.models),
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
