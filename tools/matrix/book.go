package matrix

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Book records what really happened to the requests of a server since it started, and what
// is in flight.
type Book struct {
	// Ended counts completed requests by class; Crashed counts those of class server that no
	// process accepted.
	Ended   map[engine.Class]int
	Crashed int
	// Steps counts iterations of the engine, Tokens generated tokens, Preempted requests that it set aside.
	Steps, Tokens, Preempted int
	// Running and Waiting are in flight by the engine's last report; Arrived counts requests that
	// arrived since. Unanswered have ended well in the engine, and the API has not sent their answers yet.
	Running, Waiting, Arrived, Unanswered int
	// Blocks is how many blocks of the KV cache each running request holds, 0 for the usual number.
	Blocks int
	// Gone counts requests that were in flight and left without an end: no counter of begun
	// requests falls.
	Gone int
	// Started and Now are times since the first page: when the process started, and now.
	Started, Now time.Duration
}

// add returns the sum of both books, with the requests in flight of other.
func (b Book) add(other Book) Book {
	sum := other
	sum.Ended = make(map[engine.Class]int)
	for _, class := range engine.Classes() {
		sum.Ended[class] = b.Ended[class] + other.Ended[class]
	}
	sum.Crashed += b.Crashed
	if len(other.Ended) == 0 {
		sum.Arrived += b.Arrived
	}
	sum.Steps += b.Steps
	sum.Tokens += b.Tokens
	sum.Preempted += b.Preempted
	sum.Gone += b.Gone
	sum.Gone += max(b.begun()-sum.begun(), 0)
	return sum
}

// begun returns the number of requests that have begun.
func (b *Book) begun() int {
	n := b.Running + b.Waiting + b.Arrived + b.Gone
	for _, ended := range b.Ended {
		n += ended
	}
	return n
}

// Page is a moment at which a server is scraped.
type Page struct {
	At time.Duration
	Book
	// Restarted is set if the server restarted since the previous page.
	Restarted bool
	// Reloaded is set if the exporter's configuration changed since, which shows nothing about the server.
	Reloaded bool
	// Own is what the server does with a request of the exporter's own.
	Own Treatment
	*Outcome
}

// Treatment is what a server does with a request.
type Treatment uint8

// Treatments of requests.
const (
	Answers Treatment = iota
	Fails
	Hangs
)

// Asking is what the exporter may ask a server.
type Asking string

// Values of Asking.
const (
	NoQuestions Asking = "no question"
	Confirm     Asking = "confirm"
	Canary      Asking = "canary"
)

// Outcome is the outcome of a scrape, and the API's answer at that time.
type Outcome struct {
	Scrape assess.Scrape
	API    engine.Health
	// Apart is true if that API has another address than the page, where a proxy may answer.
	Apart bool
}

// usual returns the outcome for a server that serves: a page, and an API that is ready.
func usual() *Outcome {
	return &Outcome{
		Scrape: assess.Scrape{OK: true},
		API:    engine.Health{API: engine.APIReady, Live: true, LiveKnown: true, Detail: "the API says so"},
	}
}

// Scenario is a sequence of pages during a situation of a server.
type Scenario struct {
	Name  string
	Pages []Page
	// Asking is what the exporter may ask, by default nothing.
	Asking Asking
	// Healthy is set if nothing is wrong with the server.
	Healthy bool

	// initial is the book at the first page. The phases follow, and repeats, by default the last
	// one, while the scenario lasts.
	initial         Book
	phases, repeats []phase
}

// interval is the time between pages.
const interval = 5 * time.Second

// phase is a part of a scenario; each of its pages adds the same.
type phase struct {
	pages int
	each  Book
	// restart starts with a new process, gap with a time without pages.
	restart bool
	gap     time.Duration
	// outcome is nil for a page and an API that is ready.
	outcome *Outcome
	own     Treatment
}

// begin adds the pages of all phases.
func (sc *Scenario) begin() {
	sc.Pages = []Page{{
		Book:    Book{}.add(sc.initial),
		Own:     sc.phases[0].own,
		Outcome: cmp.Or(sc.phases[0].outcome, usual()),
	}}
	sc.Pages[0].Started = -time.Hour
	for _, p := range sc.phases {
		sc.addPhase(p)
	}
	if sc.repeats == nil {
		sc.repeats = sc.phases[len(sc.phases)-1:]
	}
}

// Lasting returns the scenario with a minimum duration.
func (sc Scenario) Lasting(d time.Duration) Scenario {
	sc.Pages = slices.Clone(sc.Pages)
	for sc.Pages[len(sc.Pages)-1].At < d {
		for _, s := range sc.repeats {
			s.restart, s.gap = false, 0
			sc.addPhase(s)
		}
	}
	return sc
}

// addPhase adds the pages of a phase.
func (sc *Scenario) addPhase(s phase) {
	last := sc.Pages[len(sc.Pages)-1]
	now, book, started, restarted := last.At+s.gap, last.Book, last.Started, s.restart
	for range s.pages {
		if now += interval; restarted {
			book, started = Book{}, now-time.Second
		}
		book = book.add(s.each)
		book.Started, book.Now = started, now
		sc.Pages = append(sc.Pages, Page{
			At:        now,
			Book:      book,
			Restarted: restarted,
			Own:       s.own,
			Outcome:   cmp.Or(s.outcome, usual()),
		})
		restarted = false
	}
}

// ended returns completed requests of one page, with the work of those that were accepted.
func ended(all map[engine.Class]int) Book {
	b := Book{Ended: all}
	if n := all[engine.ClassOK] + all[engine.ClassCanceled]; n > 0 {
		b.Steps, b.Tokens, b.Running = 50, 100*n, 4
	}
	return b
}

// requests returns completed requests of one class.
func requests(class engine.Class, n int) Book { return ended(map[engine.Class]int{class: n}) }

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	well, failed := requests(engine.ClassOK, 10), requests(engine.ClassServer, 4)
	long := Book{
		Ended:  map[engine.Class]int{engine.ClassOK: 50000, engine.ClassServer: 700},
		Steps:  900000,
		Tokens: 5000000,
	}
	hung := Book{Running: 4, Waiting: 2}
	besieged, batch := hung, Book{Running: 8, Waiting: 20, Steps: 50, Tokens: 400}
	besieged.Arrived = 1
	queue := make([]phase, 9)
	for i := range queue {
		queue[i] = phase{pages: 1, each: Book{Running: 4, Waiting: 2 + i}}
	}
	half := ended(map[engine.Class]int{engine.ClassOK: 5, engine.ClassServer: 5})
	full := ended(map[engine.Class]int{engine.ClassOK: 6, engine.ClassOverload: 4})
	full.Running, full.Waiting = 8, 5
	once, twice := phase{
		pages: 1,
		each:  requests(engine.ClassServer, 1),
	}, phase{pages: 1, each: requests(engine.ClassServer, 2)}
	mute := &Outcome{
		Scrape: assess.Scrape{OK: true},
		API:    engine.Health{API: engine.APIFailed, Detail: "the API did not answer"},
	}
	refused, silent := assess.Scrape{
		Unanswered: true,
		Refused:    true,
		Error:      "connect",
	}, engine.Health{API: engine.APIRefused, Detail: "the API refuses connections"}
	early := refused
	early.MayStart = true
	notReady := engine.Health{API: engine.APINotReady, FromServer: true, Detail: "the API answers Service Unavailable"}
	starting, draining := notReady, notReady
	starting.Starting, draining.Draining = true, true
	seeing := func(scrape assess.Scrape, api engine.Health) phase {
		return phase{pages: 8, outcome: &Outcome{Scrape: scrape, API: api}}
	}
	all := []Scenario{
		{Name: "healthy", phases: []phase{{pages: 8, each: well}}, Healthy: true},
		{Name: "idle from the start", phases: []phase{{pages: 8}}, Healthy: true},
		{Name: "idle after work", phases: []phase{{pages: 3, each: well}, {pages: 9}}, Healthy: true},
		{Name: "all fail from the start", phases: []phase{{pages: 4, each: failed}}},
		{Name: "all fail after success", phases: []phase{{pages: 5, each: well}, {pages: 4, each: failed}}},
		{
			Name:   "all fail long after success",
			phases: []phase{{pages: 5, each: well}, {pages: 20}, {pages: 3, each: failed}},
		},
		{
			Name:    "two fail on a quiet replica",
			phases:  []phase{{pages: 5, each: well}, once, {pages: 17}, once, {pages: 2}},
			Healthy: true,
		},
		{
			Name:    "all fail, seldom",
			phases:  []phase{{pages: 5, each: well}, twice, {pages: 17}, twice, {pages: 17}, twice},
			repeats: []phase{{pages: 17}, twice},
		},
		{
			Name: "processes crashed",
			phases: []phase{
				{pages: 5, each: well},
				{pages: 4, each: Book{Ended: map[engine.Class]int{engine.ClassServer: 4}, Crashed: 4}},
			},
		},
		{Name: "half fail", phases: []phase{{pages: 8, each: half}}},
		{Name: "failed, and recovered", phases: []phase{{pages: 4, each: failed}, {pages: 4, each: well}}},
		{Name: "only client errors", phases: []phase{{pages: 6, each: requests(engine.ClassClient, 4)}}, Healthy: true},
		{
			Name:    "client errors after success",
			phases:  []phase{{pages: 5, each: well}, {pages: 4, each: requests(engine.ClassClient, 4)}},
			Healthy: true,
		},
		{
			Name: "client errors and failures",
			phases: []phase{{
				pages: 6,
				each:  ended(map[engine.Class]int{engine.ClassClient: 3, engine.ClassServer: 1}),
			}},
		},
		{Name: "overload", phases: []phase{{pages: 8, each: full}}, Healthy: true},
		{Name: "all refused", phases: []phase{{pages: 5, each: requests(engine.ClassOverload, 8)}}, Healthy: true},
		{Name: "all canceled", phases: []phase{{pages: 6, each: requests(engine.ClassCanceled, 4)}}, Healthy: true},
		{Name: "requests come and nothing moves", phases: []phase{{pages: 4, each: well}, {pages: 9, each: besieged}}},
		{
			Name: "the same over missed scrapes",
			phases: []phase{
				{pages: 4, each: well},
				{pages: 2, each: besieged},
				{pages: 2, gap: time.Minute, each: besieged},
			},
		},
		{Name: "the queue grows and nothing moves", phases: append([]phase{{pages: 4, each: well}}, queue...)},
		{Name: "hung, and nobody comes", phases: []phase{{pages: 4, each: well}, {pages: 9, each: hung, own: Hangs}}},
		{
			Name:   "hung, a request gets nothing",
			phases: []phase{{pages: 4, each: well}, {pages: 9, each: hung, own: Hangs}},
			Asking: Confirm,
		},
		{
			Name:    "clients left, gauges are stale",
			phases:  []phase{{pages: 4, each: well}, {pages: 9, each: Book{Running: 42, Waiting: 7}}},
			Healthy: true,
		},
		{
			Name:    "a long prefill",
			phases:  []phase{{pages: 4, each: well}, {pages: 5, each: besieged}, {pages: 2, each: well}},
			Healthy: true,
		},
		{
			Name:    "a batch of long requests",
			phases:  []phase{{pages: 4, each: well}, {pages: 20, each: batch}},
			Healthy: true,
		},
		{Name: "API does not answer", phases: []phase{{pages: 8, each: well, outcome: mute}}, Healthy: true},
		{
			Name:   "API does not answer, all fail",
			phases: []phase{{pages: 5, each: well, outcome: mute}, {pages: 4, each: failed, outcome: mute}},
		},
		{
			Name:   "all fail, a canary asks",
			phases: []phase{{pages: 5, each: well}, {pages: 16, each: failed, own: Fails}},
			Asking: Canary,
		},
		{
			Name:    "restart",
			phases:  []phase{{pages: 6, each: well}, {pages: 4, restart: true, each: well}},
			Healthy: true,
		},
		{
			Name:   "restart while all fail",
			phases: []phase{{pages: 5, each: well}, {pages: 3, each: failed}, {pages: 4, restart: true, each: failed}},
		},
		{
			Name: "missed scrapes while all fail",
			phases: []phase{
				{pages: 5, each: well},
				{pages: 3, each: failed},
				{pages: 1, gap: 30 * time.Second, each: failed},
			},
		},
		{Name: "exporter is new, idle server", initial: long, phases: []phase{{pages: 6}}, Healthy: true},
		{
			Name:    "exporter is new, healthy server",
			initial: long,
			phases:  []phase{{pages: 6, each: well}},
			Healthy: true,
		},
		{Name: "exporter is new, all fail", initial: long, phases: []phase{{pages: 4, each: failed}}},
		{Name: "loading, nothing listens yet", phases: []phase{seeing(early, silent)}, Healthy: true},
		{
			Name:    "loading, as the API says",
			phases:  []phase{seeing(assess.Scrape{Error: "http_status (503)"}, starting)},
			Healthy: true,
		},
		{Name: "nothing listens any more", phases: []phase{{pages: 4, each: well}, seeing(refused, silent)}},
		{
			Name:    "the page cannot be read",
			phases:  []phase{{pages: 4, each: well}, seeing(assess.Scrape{Error: "http_status (500)"}, usual().API)},
			Healthy: true,
		},
		{
			Name:   "not ready, as the API says",
			phases: []phase{{pages: 4, each: well}, seeing(assess.Scrape{OK: true}, notReady)},
		},
		{
			Name:    "draining, as the API says",
			phases:  []phase{{pages: 4, each: well}, seeing(assess.Scrape{OK: true}, draining)},
			Healthy: true,
		},
	}
	for i := range all {
		all[i].begin()
	}
	return all
}
