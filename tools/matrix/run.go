package matrix

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Result holds all results for a page.
type Result struct {
	assess.Verdict
	// Conditions holds the evidence from counters and gauges.
	derive.Conditions
	// Unshown is set if failing requests would go unnoticed.
	Unshown bool
	// Canary is the result of the last canary request; nil without canary.
	Canary *bool
	// Series holds the derived series.
	Series []Series
	// Capabilities and Objectives describe what the server exposes and which objectives of
	// [Promised] are measured.
	Capabilities, Objectives map[string]Answer
}

// Promised returns the objectives of every pool.
func Promised() []derive.Objective {
	return []derive.Objective{{Name: derive.Availability, Share: 0.99}}
}

// Answer is the status of a capability or an objective.
type Answer struct {
	OK           bool
	Reason, Cure string
}

// Series is a derived series.
type Series struct {
	Labels labels.Labels
	Value  float64
}

// Value returns the sum of the series of a family with the given pairs of label name and
// value, false if there is none.
func (s *Result) Value(family string, pairs ...string) (sum float64, ok bool) {
	for i := range s.Series {
		lset := s.Series[i].Labels
		if lset.Get(model.MetricNameLabel) != derive.Prefix+family {
			continue
		}
		matches := true
		for n := 0; n+1 < len(pairs); n += 2 {
			matches = matches && lset.Get(pairs[n]) == pairs[n+1]
		}
		if matches {
			sum, ok = sum+s.Series[i].Value, true
		}
	}
	return sum, ok
}

// window is the window of derived rates.
const window = time.Minute

// Play plays a server through a scenario and returns the results of each page.
func Play(server *Server, scenario *Scenario) ([]Result, error) {
	e, ok := engine.ByName(string(server.Kind))
	if !ok {
		return nil, errors.New("no such kind")
	}
	r := &run{server: server, engine: e, canary: scenario.Canary, unanswered: scenario.Unanswered}
	if scenario.Pages[0].API.API == engine.APIReady {
		r.facts = &server.Facts
	}
	r.cache = exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	id := r.identity()
	r.topology = id.Topology
	r.deriver = derive.NewDeriver(derive.Options{Window: window, Interval: interval, Engine: e, Identity: id, Objectives: Promised()})
	all := make([]Result, 0, len(scenario.Pages))
	for i := range scenario.Pages {
		seen, err := r.page(&scenario.Pages[i])
		if err != nil {
			return nil, fmt.Errorf("%s, %s, page %d: %w", server.Name, scenario.Name, i, err)
		}
		all = append(all, seen)
	}
	return all, nil
}

// run is the state of a server in a scenario.
type run struct {
	server  *Server
	engine  engine.Engine
	facts   *engine.Facts
	cache   *exposition.Cache
	deriver *derive.Deriver
	read    *engine.Page
	// topology holds the models of the last page.
	topology *engine.Topology
	previous assess.State
	// canary is set if a canary sends requests, served is the result of its last one,
	// canaryBook the book at that time.
	canary, unanswered bool
	served             *bool
	canaryBook         Book
}

// identity returns the identity of the server by its API and its page.
func (r *run) identity() derive.Identity {
	var models []engine.ModelFacts
	if r.facts != nil {
		models = r.facts.Models
	}
	return derive.Identity{
		Labels: labels.FromStrings("engine", string(r.server.Kind)), Source: engine.SourceUnknown,
		Topology: engine.NewTopology(r.engine, r.read.NamedModels(), models, nil),
	}
}

// page processes a page, if the scrape returned it.
func (r *run) page(p *Page) (Result, error) {
	if !p.Scrape.OK {
		return r.seen(p, nil, nil), nil
	}
	block, err := r.cache.Parse([]byte(r.server.Text(&p.Book)), "", nil)
	if err != nil {
		return Result{}, err
	}
	if r.read == nil || r.read.Shape() != block.Shape() {
		r.read = engine.ReadNext(r.engine, block, r.read)
		id := r.identity()
		r.topology = id.Topology
		r.deriver.Identify(id)
	} else {
		r.read.Refresh(block)
	}
	r.deriver.Observe(p.At, block, r.read)
	out := r.deriver.Render(block)
	var all []Series
	for n := range out.Shape().Lines() {
		if v, ok := out.Value(n); ok {
			all = append(all, Series{out.Shape().Labels(n), v})
		}
	}
	return r.seen(p, r.read, all), nil
}

// canaryResult returns the result of the last canary request, which is that of the clients.
func (r *run) canaryResult(b *Book) *bool {
	ok, failed := b.ok() > r.canaryBook.ok(), b.failed() > r.canaryBook.failed()
	if r.canaryBook = *b; r.canary && ok != failed {
		r.served = &ok
	}
	return r.served
}

// seen collects the results of a scrape; read is nil if it returned no page.
func (r *run) seen(p *Page, read *engine.Page, all []Series) Result {
	s := Result{Series: all, Capabilities: make(map[string]Answer), Objectives: make(map[string]Answer)}
	outcome := *p.Outcome
	outcome.Scrape.Seen = r.read != nil
	for _, o := range r.deriver.Objectives() {
		s.Objectives[o.Name] = Answer{o.OK, o.Reason, o.Cure}
	}
	s.Conditions = r.deriver.Conditions()
	c := &s.Conditions
	conclusions := assess.Examine(&assess.Basis{Engine: r.engine, Topology: r.topology, Knowledge: engine.Knowledge{Page: read, Facts: r.facts, Health: outcome.API, Canary: r.canary}, Expect: &assess.Expectations{}})
	for _, c := range conclusions.List(assess.Capabilities) {
		s.Capabilities[c.Name] = Answer{c.OK, c.Reason, c.Cure}
	}
	e := assess.Evidence{
		Previous: r.previous, Scrape: outcome.Scrape, API: assess.API{Health: outcome.API, SamePort: r.engine.SamePort()},
		Failing: c.Failing, Stall: c.Stall, PageTime: time.Time{}.Add(p.At), Unanswered: r.unanswered, Unrouted: read.Unrouted(), Unserved: conclusions.Unserved, Unobservable: conclusions.Unobservable(),
	}
	if s.Canary = r.canaryResult(&p.Book); s.Canary != nil && !*s.Canary {
		e.Canary, e.CanaryProven = "the canary request failed", true
	}
	s.Verdict, s.Unshown = assess.Judge(&e), e.Unobservable != ""
	r.previous = s.State
	return s
}
