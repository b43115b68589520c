package matrix

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
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
	// Routes is true for a router.
	Routes bool
	// Canary is the result of the last canary request; nil without canary.
	Canary *bool
	// Asked counts the requests of the exporter's own so far, Askable is true if the server takes them. Awaits is
	// true while one has no answer.
	Asked   int
	Askable bool
	Awaits  bool
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
		return nil, fmt.Errorf("%s: %q is not among the kinds of engine.All", server.Name, server.Kind)
	}
	text, err := server.Pages()
	if err != nil {
		return nil, err
	}
	r := &run{server: server, text: text, engine: e, asking: scenario.Asking}
	if scenario.Pages[0].API.API == engine.APIReady {
		r.facts = &server.Facts
	}
	r.begin()
	r.memory.Canary.Order(&canary.Order{Key: server.Name, Question: canary.Question{Model: r.entry()}})
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
	text    func(*Book) string
	engine  *engine.Kind
	facts   *engine.Facts
	cache   *exposition.Cache
	deriver *derive.Deriver
	read    *engine.Page
	// seenPage is true if there was a page.
	seenPage bool
	// shape is that of the derived series of the last page, labels are those of its lines.
	shape  *exposition.Shape
	labels []labels.Labels
	// topology holds the models of the last page.
	topology *engine.Topology
	// findings holds what is known from the last page, including its capabilities.
	findings     *assess.Findings
	capabilities map[string]Answer
	expect       assess.Expectations
	previous     assess.Judgment
	memory       assess.Memory
	// health is what the API said last.
	health engine.Health
	asking Asking
	// own is what the exporter's own requests add to the server's book, asked how many there were.
	own   Book
	asked int
	// lost counts those that the server took and never answered.
	lost int
	// hanging is a request without an answer so far, and due when the canary sends the next.
	hanging *hanging
	due     time.Duration
	// served is the result of the last canary request.
	served *bool
}

// begin starts with empty caches and windows.
func (r *run) begin() {
	r.cache = exposition.NewCache(exposition.Options{Watch: engine.Watch(r.engine)})
	naming := r.naming()
	r.topology = naming.Topology
	r.deriver = derive.NewDeriver(derive.Options{
		Window:     window,
		Interval:   interval,
		Engine:     r.engine,
		Naming:     naming,
		Objectives: Promised(),
	})
}

// reload goes on as a replica does that takes over from another one.
func (r *run) reload() {
	before := r.deriver
	r.findings, r.hanging = nil, nil
	r.begin()
	r.deriver.Continue(before)
	r.memory = r.memory.Resume(true)
}

// hanging is a request of the exporter's own that gets no answer, until it is given up.
type hanging struct {
	asked, until time.Duration
	canary       bool
}

// at returns the time of an instant of a scenario.
func at(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }

// naming returns how the series of the server are named, by its API and its page.
func (r *run) naming() derive.Naming {
	var facts engine.Facts
	if r.facts != nil {
		facts = *r.facts
	}
	return derive.Naming{
		EngineVersion: facts.EngineVersion,
		Labels:        labels.FromStrings("engine", string(r.server.Kind)),
		Source:        engine.SourceUnknown,
		Topology:      engine.NewTopology(r.engine, r.read.NamedModels(), facts.Models, nil),
	}
}

// entry returns the model that the exporter's own requests go to.
func (r *run) entry() string {
	name, _ := r.topology.EntryModel()
	return name
}

// page processes a page, if the scrape returned it, and the requests that the exporter sends then.
func (r *run) page(p *Page) (Result, error) {
	if p.Restarted {
		r.own, r.lost = Book{}, 0
		r.memory.NewProcess()
	}
	if p.Reloaded {
		r.reload()
	}
	health := p.API
	health.WasReady = r.health.WasReady && !p.Restarted || health.API == engine.APIReady
	r.health = health
	r.memory.Health(at(p.At), &health)
	if !p.Scrape.OK {
		r.memory.NoPage(at(p.At), p.Scrape.Refused && p.Scrape.Absence == "")
		r.ask(p)
		return r.seen(p, nil, nil), nil
	}
	book := r.own.add(p.Book)
	book.Arrived += r.lost
	block, err := r.cache.Parse([]byte(r.text(&book)), "", nil)
	if err != nil {
		return Result{}, err
	}
	if r.read == nil || r.read.Shape() != block.Shape() {
		r.read = engine.ReadNext(r.engine, block, r.read)
		naming := r.naming()
		r.topology = naming.Topology
		r.deriver.Rename(naming)
	} else if r.read.Refresh(block) {
		r.findings = nil
	}
	r.seenPage = true
	connection := derive.Kept
	if p.Reloaded {
		connection = derive.Opened
	}
	if p.Restarted {
		connection = derive.Reopened
	}
	r.deriver.Observe(r.deriver.Sight(p.At, block, r.read, connection))
	all := r.series(r.deriver.Render(block))
	c := r.deriver.Conditions(at)
	r.memory.Page(at(p.At), &c)
	r.ask(p)
	return r.seen(p, r.read, all), nil
}

// series returns the derived series of a page that have a value.
func (r *run) series(out *exposition.Block) (all []Series) {
	if shape := out.Shape(); r.shape != shape {
		r.shape, r.labels = shape, make([]labels.Labels, shape.Lines())
		for n := range r.labels {
			r.labels[n] = shape.Labels(n)
		}
	}
	for n, set := range r.labels {
		if v, ok := out.Value(n); ok {
			all = append(all, Series{set, v})
		}
	}
	return all
}

// askable reports whether the server takes requests of the exporter's own.
func (r *run) askable() bool {
	_, reason := r.engine.Stream(r.server.Facts.EngineVersion, r.read)
	return reason == ""
}

const (
	// canaryInterval and canaryTimeout are the defaults of the configuration.
	canaryInterval = time.Minute
	canaryTimeout  = 10 * time.Second
)

// ask sends the requests that the exporter would send after a page, and ends those that are due.
func (r *run) ask(p *Page) {
	if h := r.hanging; h != nil && p.At >= h.until {
		r.hanging = nil
		r.answered(p, h.canary, canary.Report{
			Result: canary.NoFirstToken,
			Reason: "no text",
			Asked:  at(h.asked),
			At:     at(h.until),
		})
	}
	holds := r.previous.State != "" && assess.Holds(r.previous.State)
	isCanary := r.asking == Canary && p.At >= r.due
	_, accused := r.memory.MayAsk(at(p.At))
	accused = accused && !p.API.Paused
	switch {
	case r.asking == "" || r.asking == NoQuestions || r.hanging != nil || holds || !r.askable():
		return
	case accused:
		r.memory.Asked(at(p.At), derive.Entry{})
		isCanary = false
	case isCanary:
		r.due = p.At + canaryInterval
		r.memory.CanaryAsked(at(p.At))
	default:
		return
	}
	r.asked++
	r.deriver.BeginOwn(answerTokens)
	report := canary.Report{Asked: at(p.At).Add(time.Millisecond), At: at(p.At).Add(2 * time.Millisecond)}
	switch p.Own {
	case Answers:
		report.Result, report.Output = canary.OK, "same"
		r.own = r.own.add(ownRequest(engine.ClassOK))
	case Fails:
		report.Result, report.Reason = canary.HTTPError, "the server answers 500"
		r.own = r.own.add(ownRequest(engine.ClassServer))
	case Hangs:
		r.hanging = &hanging{p.At, p.At + canaryTimeout, isCanary}
		r.lost++
		return
	}
	r.answered(p, isCanary, report)
}

// ownRequest returns a request of the exporter's own that has ended, and is in flight no more.
func ownRequest(class engine.Class) Book {
	b := requests(class, 1)
	b.Running = 0
	return b
}

// answered ends a request of the exporter's own.
func (r *run) answered(p *Page, isCanary bool, report canary.Report) {
	r.deriver.EndOwn(r.entry(), report.Answered())
	if !isCanary {
		r.memory.Answer(report, false)
		return
	}
	r.memory.Canary.Take(report, 0)
	r.memory.CanaryAnswered()
	if r.memory.Canary.Next() != nil {
		r.due = p.At
	}
	r.served = new(report.Answered())
}

// seen collects the results of a scrape; read is nil if it returned no page.
func (r *run) seen(p *Page, read *engine.Page, all []Series) Result {
	s := Result{Series: all, Objectives: make(map[string]Answer)}
	outcome := *p.Outcome
	outcome.Scrape.Seen = r.seenPage
	for _, o := range r.deriver.Objectives() {
		s.Objectives[o.Name] = Answer{o.OK, o.Reason, o.Cure}
	}
	s.Conditions, s.Routes = r.deriver.Conditions(at), r.engine.Tier(read) == engine.TierFrontend
	r.examine(&outcome, read)
	s.Capabilities = r.capabilities
	e := assess.Evidence{
		Now:        at(p.At),
		StallAfter: derive.DefaultStallAfter,
		Window:     window,
		Previous:   r.previous,
		Scrape:     outcome.Scrape,
		API:        assess.API{Health: r.health, SamePort: r.engine.SamePort(), Apart: outcome.Apart},
		Routes:     s.Routes,
	}
	e.Found(r.findings)
	r.memory.Recall(&e)
	s.Verdict, s.Unshown = assess.Judge(&e), e.Unobservable != ""
	r.deriver.Convict(s.Proven())
	s.Canary, s.Asked, s.Awaits = r.served, r.asked, r.hanging != nil
	s.Askable = r.asking != NoQuestions && r.askable()
	r.previous = assess.Judgment{State: s.State, Probes: s.Probes}
	return s
}

// examine examines the page again if the basis of the findings has changed, as a replica does.
func (r *run) examine(outcome *Outcome, read *engine.Page) {
	basis := assess.Basis{
		Engine:   r.engine,
		Topology: r.topology,
		Knowledge: engine.Knowledge{
			Page: read, Facts: r.facts, Version: r.server.Facts.EngineVersion, Health: outcome.API,
			Canary: r.asking == Canary, Confirms: r.asking == Confirm,
		},
		Expect: &r.expect,
	}
	if r.findings.RestsOn(&basis) {
		return
	}
	r.findings, r.capabilities = assess.Examine(&basis), make(map[string]Answer)
	for _, c := range r.findings.List(assess.Capabilities) {
		r.capabilities[c.Name] = Answer{c.OK, c.Reason, c.Cure}
	}
}
