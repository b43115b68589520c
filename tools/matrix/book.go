package matrix

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Book is what really became of the requests of a server since it started, and
// what it works on.
type Book struct {
	// Ended are the requests that ended, by class; Crashed are those of class server
	// that no process was there to take.
	Ended   map[engine.Class]int
	Crashed int
	// Steps are the iterations of the engine, Tokens those it put out.
	Steps, Tokens int
	// Running and Waiting are in flight, as the engine wrote it last; Came are requests
	// that came since, of which it does not know yet.
	Running, Waiting, Came int
	// Now is the time since the first page.
	Now time.Duration
}

// add is the book after some more of everything; what is in flight is that of
// the later.
func (b Book) add(more Book) Book {
	sum := more
	sum.Ended = make(map[engine.Class]int)
	for _, class := range engine.Classes() {
		sum.Ended[class] = b.Ended[class] + more.Ended[class]
	}
	sum.Crashed += b.Crashed
	if len(more.Ended) == 0 {
		sum.Came += b.Came
	}
	sum.Steps += b.Steps
	sum.Tokens += b.Tokens
	return sum
}

// Page is a moment at which a server is scraped.
type Page struct {
	At time.Duration
	Book
	// Restarted says that the server is a new process since the page before.
	Restarted bool
}

// Trouble is something that a server may be in.
type Trouble struct {
	Name  string
	Pages []Page
	// Canary says that a canary asks the server as its clients do.
	Canary bool
	// Mute says that the server's API does not answer, Unanswered that a request which
	// is sent to see whether the server hangs gets nothing.
	Mute, Unanswered bool
	// Healthy says that nothing is wrong with the server.
	Healthy bool

	// repeats are the stages that come again and again while the trouble lasts.
	repeats []stage
}

// interval is the time between pages.
const interval = 5 * time.Second

// stage are pages of one trouble on each of which the same is added.
type stage struct {
	pages int
	each  Book
	// restart begins with a new process, gap without pages for so long.
	restart bool
	gap     time.Duration
}

// trouble is one that goes through stages, one after the other. While it lasts
// the last of them goes on.
func trouble(name string, first Book, stages ...stage) Trouble {
	t := Trouble{Name: name, Pages: []Page{{Book: Book{}.add(first)}}, repeats: stages[len(stages)-1:]}
	for _, s := range stages {
		t.play(s)
	}
	return t
}

// mute is the same trouble in front of a server whose API does not answer.
func (t Trouble) mute() Trouble {
	t.Mute = true
	return t
}

// unanswered is the same trouble of a server that is asked whether it hangs.
func (t Trouble) unanswered() Trouble {
	t.Unanswered = true
	return t
}

// healthy is the same of a server with which nothing is wrong.
func (t Trouble) healthy() Trouble {
	t.Healthy = true
	return t
}

// asked is the same trouble of a server that a canary asks.
func (t Trouble) asked() Trouble {
	t.Canary = true
	return t
}

// repeating is the same trouble, of which other stages come again and again while
// it lasts.
func (t Trouble) repeating(stages ...stage) Trouble {
	t.repeats = stages
	return t
}

// Lasting is the same trouble, lasting for so long at least.
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

// ended are requests that ended on one page, with the work of those that are
// not refused at once.
func ended(all map[engine.Class]int) Book {
	b := Book{Ended: all}
	if n := all[engine.ClassOK] + all[engine.ClassCanceled]; n > 0 {
		b.Steps, b.Tokens, b.Running = 50, 100*n, 4
	}
	return b
}

// of are requests of one class.
func of(class engine.Class, n int) Book { return ended(map[engine.Class]int{class: n}) }

// Troubles are all that a server may be in.
func Troubles() []Trouble {
	well, failed := of(engine.ClassOK, 10), of(engine.ClassServer, 4)
	long := Book{Ended: map[engine.Class]int{engine.ClassOK: 50000, engine.ClassServer: 700}, Steps: 900000, Tokens: 5000000}
	hung := Book{Running: 4, Waiting: 2}
	besieged, batch := hung, Book{Running: 8, Waiting: 20, Steps: 50, Tokens: 400}
	besieged.Came = 1
	queue := make([]stage, 9)
	for i := range queue {
		queue[i] = stage{pages: 1, each: Book{Running: 4, Waiting: 2 + i}}
	}
	half := ended(map[engine.Class]int{engine.ClassOK: 5, engine.ClassServer: 5})
	full := ended(map[engine.Class]int{engine.ClassOK: 6, engine.ClassOverload: 4})
	full.Running, full.Waiting = 8, 5
	fresh, once, twice := Book{}, stage{pages: 1, each: of(engine.ClassServer, 1)}, stage{pages: 1, each: of(engine.ClassServer, 2)}
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
		trouble("only client errors", fresh, stage{pages: 6, each: of(engine.ClassClient, 4)}).healthy(),
		trouble("client errors after success", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: of(engine.ClassClient, 4)}).healthy(),
		trouble("client errors and failures", fresh, stage{pages: 6, each: ended(map[engine.Class]int{engine.ClassClient: 3, engine.ClassServer: 1})}),
		trouble("overload", fresh, stage{pages: 8, each: full}).healthy(),
		trouble("all refused", fresh, stage{pages: 5, each: of(engine.ClassOverload, 8)}).healthy(),
		trouble("all canceled", fresh, stage{pages: 6, each: of(engine.ClassCanceled, 4)}).healthy(),
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
		trouble("all fail, a canary asks", fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed}).asked(),
		trouble("restart", fresh, stage{pages: 6, each: well}, stage{pages: 4, restart: true, each: well}).healthy(),
		trouble("restart while all fail", fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 4, restart: true, each: failed}),
		trouble("missed scrapes while all fail", fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 1, gap: 30 * time.Second, each: failed}),
		trouble("exporter is new, idle server", long, stage{pages: 6}).healthy(),
		trouble("exporter is new, healthy server", long, stage{pages: 6, each: well}).healthy(),
		trouble("exporter is new, all fail", long, stage{pages: 4, each: failed}),
	}
}
