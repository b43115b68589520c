package matrix

import (
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
	// Running and Waiting are in flight.
	Running, Waiting int
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
	// Mute says that the server's API does not answer.
	Mute bool
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

// play are the pages of stages, one after the other.
func play(first Book, stages ...stage) []Page {
	now, book := time.Duration(0), Book{}.add(first)
	pages := []Page{{Book: book}}
	for _, s := range stages {
		restarted := s.restart
		now += s.gap
		for range s.pages {
			if now += interval; restarted {
				book = Book{}
			}
			book = book.add(s.each)
			book.Now = now
			pages = append(pages, Page{At: now, Book: book, Restarted: restarted})
			restarted = false
		}
	}
	return pages
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
	half := ended(map[engine.Class]int{engine.ClassOK: 5, engine.ClassServer: 5})
	full := ended(map[engine.Class]int{engine.ClassOK: 6, engine.ClassOverload: 4})
	full.Running, full.Waiting = 8, 5
	fresh := Book{}
	return []Trouble{
		{Name: "healthy", Pages: play(fresh, stage{pages: 8, each: well})},
		{Name: "idle from the start", Pages: play(fresh, stage{pages: 8})},
		{Name: "idle after work", Pages: play(fresh, stage{pages: 3, each: well}, stage{pages: 9})},
		{Name: "all fail from the start", Pages: play(fresh, stage{pages: 4, each: failed})},
		{Name: "all fail after success", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed})},
		{Name: "all fail long after success", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 20}, stage{pages: 3, each: failed})},
		{Name: "all fail, seldom", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 1, each: of(engine.ClassServer, 1)}, stage{pages: 17}, stage{pages: 1, each: of(engine.ClassServer, 1)})},
		{Name: "processes crashed", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 4, each: Book{Ended: map[engine.Class]int{engine.ClassServer: 4}, Crashed: 4}})},
		{Name: "half fail", Pages: play(fresh, stage{pages: 8, each: half})},
		{Name: "failed, and recovered", Pages: play(fresh, stage{pages: 4, each: failed}, stage{pages: 4, each: well})},
		{Name: "only client errors", Pages: play(fresh, stage{pages: 6, each: of(engine.ClassClient, 4)})},
		{Name: "client errors after success", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 4, each: of(engine.ClassClient, 4)})},
		{Name: "client errors and failures", Pages: play(fresh, stage{pages: 4, each: ended(map[engine.Class]int{engine.ClassClient: 3, engine.ClassServer: 1})})},
		{Name: "overload", Pages: play(fresh, stage{pages: 8, each: full})},
		{Name: "all refused", Pages: play(fresh, stage{pages: 5, each: of(engine.ClassOverload, 8)})},
		{Name: "all canceled", Pages: play(fresh, stage{pages: 6, each: of(engine.ClassCanceled, 4)})},
		{Name: "stalled", Pages: play(fresh, stage{pages: 4, each: well}, stage{pages: 9, each: hung})},
		{Name: "stalled over missed scrapes", Pages: play(fresh, stage{pages: 4, each: well}, stage{pages: 2, each: hung}, stage{pages: 2, gap: time.Minute, each: hung})},
		{Name: "API does not answer", Pages: play(fresh, stage{pages: 8, each: well}), Mute: true},
		{Name: "API does not answer, all fail", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 4, each: failed}), Mute: true},
		{Name: "restart", Pages: play(fresh, stage{pages: 6, each: well}, stage{pages: 4, restart: true, each: well})},
		{Name: "restart while all fail", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 4, restart: true, each: failed})},
		{Name: "missed scrapes while all fail", Pages: play(fresh, stage{pages: 5, each: well}, stage{pages: 3, each: failed}, stage{pages: 1, gap: 30 * time.Second, each: failed})},
		{Name: "exporter is new, idle server", Pages: play(long, stage{pages: 6})},
		{Name: "exporter is new, healthy server", Pages: play(long, stage{pages: 6, each: well})},
		{Name: "exporter is new, all fail", Pages: play(long, stage{pages: 4, each: failed})},
	}
}
