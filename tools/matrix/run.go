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

// Seen is what is known of a server at one page.
type Seen struct {
	assess.Verdict
	// Conditions are what the numbers say of the server.
	derive.Conditions
	// Unshown says that nobody would see requests fail.
	Unshown bool
	// Canary is whether the last request of a canary ended well; nil where none asks.
	Canary *bool
	// Series are the derived series of the page.
	Series []Series
	// Capabilities are what can be known of it, Objectives which of those that were
	// promised are measured.
	Capabilities, Objectives map[string]Answer
}

// Promised are the objectives of every server's pool.
func Promised() []derive.Objective {
	return []derive.Objective{{Name: derive.Availability, Share: 0.99}}
}

// Answer is what is said of a capability.
type Answer struct {
	OK           bool
	Reason, Cure string
}

// Series is one derived series.
type Series struct {
	Labels labels.Labels
	Value  float64
}

// Value is the sum of the series of a family that have the labels, given as name
// and value in turn; false for none.
func (s *Seen) Value(family string, pairs ...string) (sum float64, ok bool) {
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

// window is how far rules look back.
const window = time.Minute

// Play has a server go through a trouble, and returns what is known at each page.
func Play(server *Server, trouble *Trouble) ([]Seen, error) {
	e, ok := engine.Of(string(server.Kind))
	if !ok {
		return nil, errors.New("no such kind")
	}
	r := &run{server: server, engine: e, canary: trouble.Canary, unanswered: trouble.Unanswered, facts: &server.Facts, health: engine.Health{API: engine.APIReady, Live: true, LiveKnown: true, Detail: "the API says so"}}
	if trouble.Mute {
		r.facts, r.health = nil, engine.Health{API: engine.APIFailed, Detail: "the API did not answer"}
	}
	r.cache = exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	r.deriver = derive.NewDeriver(derive.Options{Window: window, Interval: interval, Engine: e, Identity: r.identity(), Objectives: Promised()})
	all := make([]Seen, 0, len(trouble.Pages))
	for i := range trouble.Pages {
		seen, err := r.page(&trouble.Pages[i])
		if err != nil {
			return nil, fmt.Errorf("%s, %s, page %d: %w", server.Name, trouble.Name, i, err)
		}
		all = append(all, seen)
	}
	return all, nil
}

// run is one server in one trouble.
type run struct {
	server  *Server
	engine  engine.Engine
	facts   *engine.Facts
	health  engine.Health
	cache   *exposition.Cache
	deriver *derive.Deriver
	read    *engine.Page
	// topology are the models of the page that was read.
	topology *engine.Topology
	was      assess.State
	// canary says that a canary asks, served how its last request ended, before what
	// the book was then.
	canary, unanswered bool
	served             *bool
	before             Book
}

// identity says who the server is, by its answers and its page.
func (r *run) identity() derive.Identity {
	var models []engine.ModelFacts
	if r.facts != nil {
		models = r.facts.Models
	}
	return derive.Identity{
		Labels: labels.FromStrings("engine", string(r.server.Kind)), Source: engine.SourceUnknown,
		Topology: engine.NewTopology(r.engine, r.read.Seen(), models, nil),
	}
}

// page takes one page.
func (r *run) page(p *Page) (Seen, error) {
	block, err := r.cache.Parse([]byte(r.server.Text(&p.Book)), "")
	if err != nil {
		return Seen{}, err
	}
	if r.read == nil || r.read.Shape() != block.Shape() {
		r.read = engine.ReadNext(r.engine, block, r.read)
		id := r.identity()
		r.topology = id.Topology
		r.deriver.Identify(id)
	} else {
		r.read.Refresh(block)
	}
	r.deriver.Follow(p.At, block, r.read)
	return r.seen(p, r.deriver.Render(block)), nil
}

// asked is how the last request of a canary ended: like those of the clients.
func (r *run) asked(b *Book) *bool {
	ok, failed := b.ok() > r.before.ok(), b.failed() > r.before.failed()
	if r.before = *b; r.canary && ok != failed {
		r.served = &ok
	}
	return r.served
}

// seen puts together what is known now.
func (r *run) seen(p *Page, out *exposition.Block) Seen {
	s := Seen{Capabilities: make(map[string]Answer), Objectives: make(map[string]Answer)}
	for n := range out.Shape().Lines() {
		if v, ok := out.Value(n); ok {
			s.Series = append(s.Series, Series{out.Shape().Labels(n), v})
		}
	}
	for _, o := range r.deriver.Objectives() {
		s.Objectives[o.Name] = Answer{o.OK, o.Reason, o.Cure}
	}
	s.Conditions = r.deriver.Conditions()
	c := &s.Conditions
	known := assess.Know(&assess.Basis{Engine: r.engine, Topology: r.topology, Known: engine.Known{Page: r.read, Facts: r.facts, Health: r.health, Canary: r.canary}, Expect: &assess.Expectations{}})
	for _, c := range known.List(assess.Capabilities) {
		s.Capabilities[c.Name] = Answer{c.OK, c.Reason, c.Cure}
	}
	e := assess.Evidence{
		Was: r.was, Scrape: assess.Scrape{OK: true, Seen: true}, API: assess.API{Health: r.health, SamePort: r.engine.SamePort(), Seen: true, Lived: true},
		Failing: c.Failing, Still: c.Still, Came: time.Time{}.Add(p.At), Unanswered: r.unanswered, Unrouted: r.read.Unrouted(), Unserved: known.Unserved, Unshown: known.Unshown(),
	}
	if s.Canary = r.asked(&p.Book); s.Canary != nil && !*s.Canary {
		e.Canary = "its canary fails"
	}
	s.Verdict, s.Unshown = assess.Judge(&e), e.Unshown != ""
	r.was = s.State
	return s
}
