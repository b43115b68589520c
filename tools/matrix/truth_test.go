package matrix_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// cell is one server in one trouble, page by page.
type cell struct {
	*testing.T

	server  matrix.Server
	trouble matrix.Trouble
	seen    []matrix.Result
}

// played are all cells, played once for all tests.
var played = sync.OnceValues(func() (cells []cell, err error) {
	for _, server := range matrix.Servers() {
		for _, trouble := range matrix.Troubles() {
			seen, err := matrix.Play(&server, &trouble)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell{server: server, trouble: trouble, seen: seen})
		}
	}
	return cells, nil
})

// seenOf returns what was seen of a server in a trouble.
func seenOf(server *matrix.Server, trouble *matrix.Trouble) ([]matrix.Result, error) {
	cells, err := played()
	for i := range cells {
		if cells[i].server.Name == server.Name && cells[i].trouble.Name == trouble.Name {
			return cells[i].seen, nil
		}
	}
	return nil, err
}

// everyCell checks every server in every trouble.
func everyCell(t *testing.T, check func(c *cell)) {
	t.Helper()
	cells, err := played()
	require.NoError(t, err)
	for _, c := range cells {
		t.Run(c.server.Name+"/"+c.trouble.Name, func(t *testing.T) {
			c.T = t
			check(&c)
		})
	}
}

// grown returns how many requests of a class ended between two pages, as far as the
// server's page counts them; crashed ones count everywhere where failures do.
func (c *cell) grown(class engine.Class, from, to int) int {
	a, b := &c.trouble.Pages[from], &c.trouble.Pages[to]
	return b.Ended[class] - a.Ended[class]
}

// shown reports whether the page shows what became of requests that failed.
func (c *cell) shown(page int) bool {
	counted := false
	for _, class := range c.server.Counts {
		counted = counted || class == engine.ClassServer
	}
	if !c.server.Only {
		return counted
	}
	return c.trouble.Pages[page].Crashed > c.trouble.Pages[page-1].Crashed
}

// whileAllFail calls is with each page at which five requests or more failed on two
// pages or more and none succeeded since. Of failures only those on pages that count are
// seen.
func (c *cell) whileAllFail(counts func(page int) bool, is func(page int)) {
	pages, failed := 0, 0
	for i := 1; i < len(c.seen); i++ {
		switch {
		case c.trouble.Pages[i].Restarted, c.grown(engine.ClassOK, i-1, i) > 0, c.grown(engine.ClassCanceled, i-1, i) > 0:
			pages, failed = 0, 0
		case c.grown(engine.ClassServer, i-1, i) > 0 && counts(i):
			pages++
			failed += c.grown(engine.ClassServer, i-1, i)
		}
		if pages >= 2 && failed >= derive.DefaultFailingMin {
			is(i)
		}
	}
}

// TestFailingWhileAllRequestsFail is of servers that show it.
func TestFailingWhileAllRequestsFail(t *testing.T) {
	everyCell(t, func(c *cell) {
		c.whileAllFail(c.shown, func(page int) {
			require.Equal(c, assess.Failing, c.seen[page].State, "page %d", page)
		})
	})
}

// TestUnobservedFailuresAreMentioned is of all servers: those that do not tell
// that requests fail have a verdict that says so, or that of a canary.
func TestUnobservedFailuresAreMentioned(t *testing.T) {
	everyCell(t, func(c *cell) {
		c.whileAllFail(func(int) bool { return true }, func(page int) {
			seen := &c.seen[page]
			if c.trouble.Canary || c.shown(page) {
				require.Equal(c, assess.Broken, seen.Severity, "page %d", page)
				return
			}
			require.True(c, seen.Unshown, "page %d", page)
			require.Contains(c, seen.Reason, "whether its requests fail is unknown: "+seen.Capabilities[engine.CanOutcomes].Reason, "page %d", page)
		})
	})
}

// TestClientErrorsAreNotFailing is of all that is not the server's
// fault: what clients did wrong, gave up, or were refused for want of room, and
// failures of before the first page.
func TestClientErrorsAreNotFailing(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := 1; i < len(c.seen); i++ {
			if c.grown(engine.ClassServer, i-1, i) > 0 {
				return
			}
			require.NotEqual(c, assess.Failing, c.seen[i].State, "page %d", i)
		}
	})
}

// TestDerivedValuesMatchRequests compares what is derived of a server at each page with
// what became of its requests over the same window. What its page does not count
// is left out on both sides; whatever is shown must be right.
func TestDerivedValuesMatchRequests(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := 1; i < len(c.seen); i++ {
			from := c.windowFrom(i)
			if from == i {
				continue
			}
			total, by := c.window(from, i)
			seconds := (c.trouble.Pages[i].At - c.trouble.Pages[from].At).Seconds()
			if v, ok := c.seen[i].Value("requests_per_second"); ok {
				require.InDelta(c, float64(total)/seconds, v, 1e-6, "requests a second, page %d", i)
			}
			for _, class := range engine.Classes() {
				v, ok := c.seen[i].Value("request_error_ratio", "class", string(class))
				require.False(c, ok && total == 0, "a share of nothing, page %d", i)
				if ok {
					require.InDelta(c, float64(by[class])/float64(total), v, 1e-9, "share of %s, page %d", class, i)
					require.True(c, v > 0 || by[class] == 0 && c.grown(class, from, i) == 0, "0 %s although some ended so, page %d", class, i)
				}
			}
		}
	})
}

// windowFrom returns the first page of the window of a page that is of the same
// process, without a gap in between.
func (c *cell) windowFrom(page int) int {
	pages := c.trouble.Pages
	from := page
	for from > 0 && !pages[from].Restarted && pages[from].At-pages[from-1].At < 10*time.Second && pages[page].At-pages[from-1].At <= time.Minute {
		from--
	}
	return from
}

// window returns how many requests ended over a window, in all and by class, as far as
// the page counts them.
func (c *cell) window(from, to int) (total int, by map[engine.Class]int) {
	by = make(map[engine.Class]int)
	for _, class := range c.server.Counts {
		by[class] = c.grown(class, from, to)
		total += by[class]
	}
	if arrived := c.trouble.Pages[to].Arrived - c.trouble.Pages[from].Arrived; c.server.Only {
		by[engine.ClassOK] += arrived
		total += arrived
	}
	for _, class := range c.server.TakenAsOK {
		by[engine.ClassOK] += c.grown(class, from, to)
		total += c.grown(class, from, to)
	}
	return total, by
}
