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

// cell is a server in a scenario, page by page.
type cell struct {
	*testing.T

	server   matrix.Server
	scenario matrix.Scenario
	seen     []matrix.Result
}

// played returns all cells, played once for all tests.
var played = sync.OnceValues(func() (cells []cell, err error) {
	for _, server := range matrix.Servers() {
		for _, scenario := range matrix.Scenarios() {
			seen, err := matrix.Play(&server, &scenario)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell{server: server, scenario: scenario, seen: seen})
		}
	}
	return cells, nil
})

// seenOf returns what was seen of a server in a scenario.
func seenOf(server *matrix.Server, scenario *matrix.Scenario) ([]matrix.Result, error) {
	cells, err := played()
	for i := range cells {
		if cells[i].server.Name == server.Name && cells[i].scenario.Name == scenario.Name {
			return cells[i].seen, nil
		}
	}
	return nil, err
}

// everyCell checks every server in every scenario.
func everyCell(t *testing.T, check func(c *cell)) {
	t.Helper()
	cells, err := played()
	require.NoError(t, err)
	for _, c := range cells {
		t.Run(c.server.Name+"/"+c.scenario.Name, func(t *testing.T) {
			c.T = t
			check(&c)
		})
	}
}

// grown returns how many requests of a class ended between two pages, as far as the
// server's page counts them; crashed ones count everywhere where failures do.
func (c *cell) grown(class engine.Class, from, to int) int {
	a, b := &c.scenario.Pages[from], &c.scenario.Pages[to]
	return b.Ended[class] - a.Ended[class]
}

// shown reports whether the page shows failed requests.
func (c *cell) shown(page int) bool {
	counted := false
	for _, class := range c.server.Counts {
		counted = counted || class == engine.ClassServer
	}
	if !c.server.Only {
		return counted
	}
	return c.scenario.Pages[page].Crashed > c.scenario.Pages[page-1].Crashed
}

// whileAllFail calls is with each page at which five requests or more failed on two pages or more
// and none succeeded since. Only failures on pages for which counts is true are considered.
func (c *cell) whileAllFail(counts func(page int) bool, is func(page int)) {
	pages, failed := 0, 0
	for i := 1; i < len(c.seen); i++ {
		switch {
		case c.scenario.Pages[i].Restarted,
			c.grown(engine.ClassOK, i-1, i) > 0,
			c.grown(engine.ClassCanceled, i-1, i) > 0:
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

// TestFailingWhileAllRequestsFail checks the servers that expose failures.
func TestFailingWhileAllRequestsFail(t *testing.T) {
	everyCell(t, func(c *cell) {
		c.whileAllFail(c.shown, func(page int) {
			require.Equal(c, assess.Failing, c.seen[page].State, "page %d", page)
		})
	})
}

// TestUnobservedFailuresAreMentioned checks all servers: the verdict of those that do
// not expose failures says so, or follows from a canary.
func TestUnobservedFailuresAreMentioned(t *testing.T) {
	everyCell(t, func(c *cell) {
		c.whileAllFail(func(int) bool { return true }, func(page int) {
			seen := &c.seen[page]
			switch {
			case c.shown(page):
				require.Equal(c, assess.Broken, seen.Severity, "page %d", page)
				return
			case seen.Asked > 0:
				if page == len(c.seen)-1 {
					require.Equal(c, assess.Broken, seen.Severity, "the second canary request failed: %s", seen.Reason)
				}
				return
			}
			require.Equal(c, "not able to show failures", is(!seen.Unshown, "able to show failures"),
				"page %d: %s", page, seen.Reason)
			require.Contains(
				c,
				seen.Reason,
				"whether its requests fail is unknown: "+seen.Capabilities[engine.CanOutcomes].Reason,
				"page %d",
				page,
			)
		})
	})
}

// TestClientErrorsAreNotFailing checks what is not the server's fault: client
// errors, canceled and rejected requests, and failures before the first page.
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

// TestDerivedValuesMatchRequests compares the values derived at each page with the
// outcomes of requests over the same window. What the page does not count is left
// out on both sides; every value must be right.
func TestDerivedValuesMatchRequests(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := 1; i < len(c.seen) && c.scenario.Asking == ""; i++ {
			from := c.windowFrom(i)
			if from == i {
				continue
			}
			total, by := c.window(from, i)
			seconds := (c.scenario.Pages[i].At - c.scenario.Pages[from].At).Seconds()
			if v, ok := c.seen[i].Value("requests_per_second"); ok {
				require.InDelta(c, float64(total)/seconds, v, 1e-6, "requests a second, page %d", i)
			}
			for _, class := range engine.Classes() {
				v, ok := c.seen[i].Value("request_error_ratio", "class", string(class))
				if !ok {
					continue
				}
				require.Positive(c, total, "a share of nothing, page %d", i)
				require.InDelta(c, float64(by[class])/float64(total), v, 1e-9, "share of %s, page %d", class, i)
				if v == 0 {
					require.Zero(c, max(by[class], c.grown(class, from, i)),
						"requests that ended as %s, of which page %d shows none", class, i)
				}
			}
		}
	})
}

// windowFrom returns the first page of the window of a page that is of the same
// process, without a gap in between.
func (c *cell) windowFrom(page int) int {
	pages := c.scenario.Pages
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
	if arrived := c.scenario.Pages[to].Arrived - c.scenario.Pages[from].Arrived; c.server.Only {
		by[engine.ClassOK] += arrived
		total += arrived
	}
	for _, class := range c.server.TakenAsOK {
		by[engine.ClassOK] += c.grown(class, from, to)
		total += c.grown(class, from, to)
	}
	return total, by
}
