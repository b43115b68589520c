package matrix

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Book records what really happened to the requests of a server since it started, and what
// is in flight.
type Book struct {
	// Ended counts completed requests by class; Crashed counts those of class server that no
	// process accepted.
	Ended   map[engine.Class]int
	Crashed int
	// Steps counts iterations of the engine, Tokens generated tokens.
	Steps, Tokens int
	// Running and Waiting are in flight by the engine's last report; Arrived counts requests that
	// arrived since.
	Running, Waiting, Arrived int
	// Now is the time since the first page.
	Now time.Duration
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
	return sum
}

// Page is a moment at which a server is scraped.
type Page struct {
	At time.Duration
	Book
	// Restarted is set if the server restarted since the previous page.
	Restarted bool
}

// Scenario is a sequence of pages during a situation of a server.
type Scenario struct {
	Name  string
	Pages []Page
	// Canary is set if a canary sends requests too.
	Canary bool
	// Mute is set if the server's API does not answer, Unanswered if a request that tests for
	// a hang gets no answer.
	Mute, Unanswered bool
	// Healthy is set if nothing is wrong with the server.
	Healthy bool

	// repeats lists the phases that repeat while the scenario lasts.
	repeats []phase
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
}

// scenario returns a scenario with phases. The last one repeats while the scenario lasts.
func scenario(name string, initial Book, phases ...phase) Scenario {
	sc := Scenario{Name: name, Pages: []Page{{Book: Book{}.add(initial)}}, repeats: phases[len(phases)-1:]}
	for _, s := range phases {
		sc.addPhase(s)
	}
	return sc
}

// mute returns the scenario with an API that does not answer.
func (sc Scenario) mute() Scenario {
	sc.Mute = true
	return sc
}

// unanswered returns the scenario with a request that tests for a hang and gets no answer.
func (sc Scenario) unanswered() Scenario {
	sc.Unanswered = true
	return sc
}

// healthy returns the scenario marked as healthy.
func (sc Scenario) healthy() Scenario {
	sc.Healthy = true
	return sc
}

// withCanary returns the scenario with a canary.
func (sc Scenario) withCanary() Scenario {
	sc.Canary = true
	return sc
}

// repeating returns the scenario with other phases to repeat while it lasts.
func (sc Scenario) repeating(phases ...phase) Scenario {
	sc.repeats = phases
	return sc
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
	now, book, restarted := last.At+s.gap, last.Book, s.restart
	for range s.pages {
		if now += interval; restarted {
			book = Book{}
		}
		book = book.add(s.each)
		book.Now = now
		sc.Pages = append(sc.Pages, Page{At: now, Book: book, Restarted: restarted})
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
	long := Book{Ended: map[engine.Class]int{engine.ClassOK: 50000, engine.ClassServer: 700}, Steps: 900000, Tokens: 5000000}
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
	fresh, once, twice := Book{}, phase{pages: 1, each: requests(engine.ClassServer, 1)}, phase{pages: 1, each: requests(engine.ClassServer, 2)}
	return []Scenario{
		scenario("healthy", fresh, phase{pages: 8, each: well}).healthy(),
		scenario("idle from the start", fresh, phase{pages: 8}).healthy(),
		scenario("idle after work", fresh, phase{pages: 3, each: well}, phase{pages: 9}).healthy(),
		scenario("all fail from the start", fresh, phase{pages: 4, each: failed}),
		scenario("all fail after success", fresh, phase{pages: 5, each: well}, phase{pages: 4, each: failed}),
		scenario("all fail long after success", fresh, phase{pages: 5, each: well}, phase{pages: 20}, phase{pages: 3, each: failed}),
		scenario("two fail on a quiet replica", fresh, phase{pages: 5, each: well}, once, phase{pages: 17}, once, phase{pages: 2}).healthy(),
		scenario("all fail, seldom", fresh, phase{pages: 5, each: well}, twice, phase{pages: 17}, twice, phase{pages: 17}, twice).repeating(phase{pages: 17}, twice),
		scenario("processes crashed", fresh, phase{pages: 5, each: well}, phase{pages: 4, each: Book{Ended: map[engine.Class]int{engine.ClassServer: 4}, Crashed: 4}}),
		scenario("half fail", fresh, phase{pages: 8, each: half}),
		scenario("failed, and recovered", fresh, phase{pages: 4, each: failed}, phase{pages: 4, each: well}),
		scenario("only client errors", fresh, phase{pages: 6, each: requests(engine.ClassClient, 4)}).healthy(),
		scenario("client errors after success", fresh, phase{pages: 5, each: well}, phase{pages: 4, each: requests(engine.ClassClient, 4)}).healthy(),
		scenario("client errors and failures", fresh, phase{pages: 6, each: ended(map[engine.Class]int{engine.ClassClient: 3, engine.ClassServer: 1})}),
		scenario("overload", fresh, phase{pages: 8, each: full}).healthy(),
		scenario("all refused", fresh, phase{pages: 5, each: requests(engine.ClassOverload, 8)}).healthy(),
		scenario("all canceled", fresh, phase{pages: 6, each: requests(engine.ClassCanceled, 4)}).healthy(),
		scenario("requests come and nothing moves", fresh, phase{pages: 4, each: well}, phase{pages: 9, each: besieged}),
		scenario("the same over missed scrapes", fresh, phase{pages: 4, each: well}, phase{pages: 2, each: besieged}, phase{pages: 2, gap: time.Minute, each: besieged}),
		scenario("the queue grows and nothing moves", fresh, append([]phase{{pages: 4, each: well}}, queue...)...),
		scenario("hung, and nobody comes", fresh, phase{pages: 4, each: well}, phase{pages: 9, each: hung}),
		scenario("hung, a request gets nothing", fresh, phase{pages: 4, each: well}, phase{pages: 9, each: hung}).unanswered(),
		scenario("clients left, gauges are stale", fresh, phase{pages: 4, each: well}, phase{pages: 9, each: Book{Running: 42, Waiting: 7}}).healthy(),
		scenario("a long prefill", fresh, phase{pages: 4, each: well}, phase{pages: 5, each: besieged}, phase{pages: 2, each: well}).healthy(),
		scenario("a batch of long requests", fresh, phase{pages: 4, each: well}, phase{pages: 20, each: batch}).healthy(),
		scenario("API does not answer", fresh, phase{pages: 8, each: well}).mute().healthy(),
		scenario("API does not answer, all fail", fresh, phase{pages: 5, each: well}, phase{pages: 4, each: failed}).mute(),
		scenario("all fail, a canary asks", fresh, phase{pages: 5, each: well}, phase{pages: 4, each: failed}).withCanary(),
		scenario("restart", fresh, phase{pages: 6, each: well}, phase{pages: 4, restart: true, each: well}).healthy(),
		scenario("restart while all fail", fresh, phase{pages: 5, each: well}, phase{pages: 3, each: failed}, phase{pages: 4, restart: true, each: failed}),
		scenario("missed scrapes while all fail", fresh, phase{pages: 5, each: well}, phase{pages: 3, each: failed}, phase{pages: 1, gap: 30 * time.Second, each: failed}),
		scenario("exporter is new, idle server", long, phase{pages: 6}).healthy(),
		scenario("exporter is new, healthy server", long, phase{pages: 6, each: well}).healthy(),
		scenario("exporter is new, all fail", long, phase{pages: 4, each: failed}),
	}
}
