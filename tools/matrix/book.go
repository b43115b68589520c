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

// add returns the sum of both books, with the requests in flight of more.
func (b Book) add(more Book) Book {
	sum := more
	sum.Ended = make(map[engine.Class]int)
	for _, class := range engine.Classes() {
		sum.Ended[class] = b.Ended[class] + more.Ended[class]
	}
	sum.Crashed += b.Crashed
	if len(more.Ended) == 0 {
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

// Trouble is a sequence of pages during a situation of a server.
type Trouble struct {
	Name  string
	Pages []Page
	// Canary is set if a canary sends requests too.
	Canary bool
	// Mute is set if the server's API does not answer, Unanswered if a request that tests for
	// a hang gets no answer.
	Mute, Unanswered bool
	// Healthy is set if nothing is wrong with the server.
	Healthy bool

	// repeats lists the stages that repeat while the trouble lasts.
	repeats []stage
}

// interval is the time between pages.
const interval = 5 * time.Second

// stage is a part of a trouble; each of its pages adds the same.
type stage struct {
	pages int
	each  Book
	// restart starts with a new process, gap with a time without pages.
	restart bool
	gap     time.Duration
}

// trouble returns a trouble of stages. The last one repeats while the trouble lasts.
func trouble(name string, firstToken Book, stages ...stage) Trouble {
	t := Trouble{Name: name, Pages: []Page{{Book: Book{}.add(firstToken)}}, repeats: stages[len(stages)-1:]}
	for _, s := range stages {
		t.play(s)
	}
	return t
}

// mute returns the trouble with an API that does not answer.
func (t Trouble) mute() Trouble {
	t.Mute = true
	return t
}

// unanswered returns the trouble with a request that tests for a hang and gets no answer.
func (t Trouble) unanswered() Trouble {
	t.Unanswered = true
	return t
}

// healthy marks the trouble as none.
func (t Trouble) healthy() Trouble {
	t.Healthy = true
	return t
}

// withCanary returns the trouble with a canary.
func (t Trouble) withCanary() Trouble {
	t.Canary = true
	return t
}

// repeating returns the trouble with other stages to repeat while it lasts.
func (t Trouble) repeating(stages ...stage) Trouble {
	t.repeats = stages
	return t
}

// Lasting returns the trouble with a minimum duration.
func (t Trouble) Lasting(d time.Duration) Trouble {
	t.Pages = slices.Clone(t.Pages)
	for t.Pages[len(t.Pages)-1].At < d {
		for _, s := range t.repeats {
			s.restart, s.gap = false, 0
			t.play(s)
		}
	}
	return t
}

// play adds the pages of a stage.
func (t *Trouble) play(s stage) {
	last := t.Pages[len(t.Pages)-1]
	now, book, restarted := last.At+s.gap, last.Book, s.restart
	for range s.pages {
		if now += interval; restarted {
			book = Book{}
		}
		book = book.add(s.each)
		book.Now = now
		t.Pages = append(t.Pages, Page{At: now, Book: book, Restarted: restarted})
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

// of returns completed requests of one class.
func requests(class engine.Class, n int) Book { return ended(map[engine.Class]int{class: n}) }

// Troubles returns all troubles.
func Troubles() []Trouble {
	well, failed := requests(engine.ClassOK, 10), requests(engine.ClassServer, 4)
	long := Book{Ended: map[engine.Class]int{engine.ClassOK: 50000, engine.ClassServer: 700}, Steps: 900000, Tokens: 5000000}
	hung := Book{Running: 4, Waiting: 2}
	besieged, batch := hung, Book{Running: 8, Waiting: 20, Steps: 50, Tokens: 400}
	besieged.Arrived = 1
	queue := make([]stage, 9)
	for i := range queue {
		queue[i] = stage{pages: 1, each: Book{Running: 4, Waiting: 2 + i}}
	}
	half := ended(map[engine.Class]int{engine.ClassOK: 5, engine.ClassServer: 5})
	full := ended(map[engine.Class]int{engine.ClassOK: 6, engine.ClassOverload: 4})
	full.Running, full.Waiting = 8, 5
	fresh, once, twice := Book{}, stage{pages: 1, each: requests(engine.ClassServer, 1)}, stage{pages: 1, each: requests(engine.ClassServer, 2)}
	return []Trouble{
		trouble("healthy", fresh, stage{pages: 8, each: well}).healthy(),
		trouble("idle from the start", fresh, stage{pages: 8}).healthy(),
		trouble("idle after work", fresh, stage{pages: 3, each: well}, stage{pages: 9}).healthy(),
		trouble("all fail from the start", fresh, stage{pages: 4, each: failed}),
		trouble("all fail after success", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed}),
		trouble("all fail long after success", fresh, stage{pages: 5, each: well}, stage{pages: 20}, stage{pages: 3, each: failed}),
		trouble("two fail on a quiet replica", fresh, stage{pages: 5, each: well}, once, stage{pages: 17}, once, stage{pages: 2}).healthy(),
		trouble("all fail, seldom", fresh, stage{pages: 5, each: well}, twice, stage{pages: 17}, twice, stage{pages: 17}, twice).repeating(stage{pages: 17}, twice),
		trouble("processes crashed", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: Book{Ended: map[engine.Class]int{engine.ClassServer: 4}, Crashed: 4}}),
		trouble("half fail", fresh, stage{pages: 8, each: half}),
		trouble("failed, and recovered", fresh, stage{pages: 4, each: failed}, stage{pages: 4, each: well}),
		trouble("only client errors", fresh, stage{pages: 6, each: requests(engine.ClassClient, 4)}).healthy(),
		trouble("client errors after success", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: requests(engine.ClassClient, 4)}).healthy(),
		trouble("client errors and failures", fresh, stage{pages: 6, each: ended(map[engine.Class]int{engine.ClassClient: 3, engine.ClassServer: 1})}),
		trouble("overload", fresh, stage{pages: 8, each: full}).healthy(),
		trouble("all refused", fresh, stage{pages: 5, each: requests(engine.ClassOverload, 8)}).healthy(),
		trouble("all canceled", fresh, stage{pages: 6, each: requests(engine.ClassCanceled, 4)}).healthy(),
		trouble("requests come and nothing moves", fresh, stage{pages: 4, each: well}, stage{pages: 9, each: besieged}),
		trouble("the same over missed scrapes", fresh, stage{pages: 4, each: well}, stage{pages: 2, each: besieged}, stage{pages: 2, gap: time.Minute, each: besieged}),
		trouble("the queue grows and nothing moves", fresh, append([]stage{{pages: 4, each: well}}, queue...)...),
		trouble("hung, and nobody comes", fresh, stage{pages: 4, each: well}, stage{pages: 9, each: hung}),
		trouble("hung, a request gets nothing", fresh, stage{pages: 4, each: well}, stage{pages: 9, each: hung}).unanswered(),
		trouble("clients left, gauges are stale", fresh, stage{pages: 4, each: well}, stage{pages: 9, each: Book{Running: 42, Waiting: 7}}).healthy(),
		trouble("a long prefill", fresh, stage{pages: 4, each: well}, stage{pages: 5, each: besieged}, stage{pages: 2, each: well}).healthy(),
		trouble("a batch of long requests", fresh, stage{pages: 4, each: well}, stage{pages: 20, each: batch}).healthy(),
		trouble("API does not answer", fresh, stage{pages: 8, each: well}).mute().healthy(),
		trouble("API does not answer, all fail", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed}).mute(),
		trouble("all fail, a canary asks", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed}).withCanary(),
		trouble("restart", fresh, stage{pages: 6, each: well}, stage{pages: 4, restart: true, each: well}).healthy(),
		trouble("restart while all fail", fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 4, restart: true, each: failed}),
		trouble("missed scrapes while all fail", fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 1, gap: 30 * time.Second, each: failed}),
		trouble("exporter is new, idle server", long, stage{pages: 6}).healthy(),
		trouble("exporter is new, healthy server", long, stage{pages: 6, each: well}).healthy(),
		trouble("exporter is new, all fail", long, stage{pages: 4, each: failed}),
	}
}
