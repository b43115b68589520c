package derive_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// address is an address with one or more processes behind it.
type address struct {
	*bench

	// connection is the connection of the next page.
	connection derive.Connection
	// fresh returns the page that a request over a new connection gets, nil if there are no such pages.
	fresh func() string
	read  *engine.Page
	// fastest is the highest shown rate of tokens, rates the number of pages with a rate, shown of
	// those with any derived series, began the number of apparent restarts.
	fastest             float64
	rates, shown, began int
}

// newAddress returns an address that is scraped every second, over windows of a minute.
func newAddress(t *testing.T, kind engine.Name) *address {
	t.Helper()
	return &address{bench: newBench(t, kind, "m").with(func(o *derive.Options) { o.Interval = time.Second })}
}

// parse reads a page.
func (a *address) parse(text string) (*exposition.Block, *engine.Page) {
	a.tb.Helper()
	raw, err := a.cache.Parse([]byte(text), "", nil)
	require.NoError(a.tb, err)
	if a.read == nil || a.read.Shape() != raw.Shape() {
		a.read = engine.ReadPage(a.engine, raw)
	}
	return raw, a.read
}

// page reads a page a second after the previous one, and those over new connections that follow.
func (a *address) page(text string) {
	a.tb.Helper()
	a.now += time.Second
	raw, page := a.parse(text)
	seen := a.deriver.Sight(a.now, raw, page, a.connection)
	if seen.Restarted() {
		a.began++
	}
	a.deriver.Observe(seen)
	a.out = a.deriver.Render(raw)
	all := a.values()
	if rate, ok := all[`generation_tokens_per_second{model_id="m"}`]; ok {
		a.fastest = max(a.fastest, rate)
		a.rates++
	}
	if len(all) > 0 {
		a.shown++
	}
	for a.fresh != nil && a.deriver.TakeFresh() {
		raw, page = a.parse(a.fresh())
		a.deriver.AddFresh(a.now, raw, page)
	}
}

// worker is a process with its start time and its counts at the start of the test; it serves ten
// requests of ten tokens per second.
type worker struct {
	born    float64
	counted int
	id      string
	idle    bool
}

// page returns its page after some seconds.
func (w worker) page(second int) string {
	n := w.counted
	if !w.idle {
		n += 10 * second
	}
	var b strings.Builder
	for _, c := range []struct {
		name string
		by   int
	}{
		{"prompt_tokens_total{", 30},
		{"generation_tokens_total{", 10},
		{"request_success_total{finished_reason=\"stop\",", 1},
		{"num_preemptions_total{", 0},
	} {
		fmt.Fprintf(&b, "vllm:%sengine=\"0\",model_name=\"m\"} %d\n", c.name, c.by*n)
	}
	fmt.Fprintf(&b, "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\n")
	if w.born > 0 {
		fmt.Fprintf(&b, "process_start_time_seconds %f\n", w.born)
	}
	if w.id != "" {
		fmt.Fprintf(&b, "dynamo_component_uptime_seconds{worker_id=%q} %d\n", w.id, n)
	}
	return b.String()
}

// balancer returns which of n workers gets the next request.
type balancer func(n int) int

func inTurn() balancer {
	next := -1
	return func(n int) int {
		next++
		return next % n
	}
}

func atRandom(seed uint64) balancer { return rand.New(rand.NewPCG(seed, 2)).IntN }

// many returns workers whose counts grow from one to the next.
func many(n int, first worker, counts func(i int) int) (all []worker) {
	for i := range n {
		w := first
		if w.born > 0 {
			w.born += float64(10 * i)
		}
		if w.id != "" {
			w.id = strconv.Itoa(i)
		}
		w.counted += counts(i)
		all = append(all, w)
	}
	return all
}

func near(i int) int { return 13 * i }
func far(i int) int  { return 9 * int(math.Pow(8, float64(i))) }
func even(i int) int { return 10000 * i }

func TestSeveralProcessesAreDetected(t *testing.T) {
	rising := many(3, worker{counted: 100}, even)
	for _, c := range []struct {
		name    string
		kind    engine.Name
		workers []worker
		// exactly is true if the pages name their processes.
		exactly bool
	}{
		{
			"two with start times", engine.VLLM,
			[]worker{{born: 1.7e9, counted: 100}, {born: 1.70001e9, counted: 90000}},
			true,
		},
		{
			"two, the older one second", engine.VLLM,
			[]worker{{born: 1.70001e9, counted: 90000}, {born: 1.7e9, counted: 100}},
			true,
		},
		{"ten in the order of their start", engine.VLLM, many(10, worker{born: 1.7e9}, far), true},
		{
			"idle ones with different start times", engine.VLLM,
			[]worker{{born: 1.7e9, idle: true}, {born: 1.70001e9, idle: true}},
			true,
		},
		{"two with names", engine.Dynamo, many(2, worker{id: "a"}, far), true},
		{
			"workers that started together", engine.VLLM,
			[]worker{{born: 1.7e9, counted: 100}, {born: 1.7e9 + 0.05, counted: 90000}},
			false,
		},
		{
			"four of one server that started together", engine.VLLM,
			[]worker{
				{born: 1.7e9, counted: 1000},
				{born: 1.7e9 + 0.03, counted: 1070},
				{born: 1.7e9 + 0.06, counted: 1140},
				{born: 1.7e9 + 0.09, counted: 1210},
			},
			false,
		},
		{"two, the lower first", engine.VLLM, []worker{{counted: 100}, {counted: 90000}}, false},
		{"two, the higher first", engine.VLLM, []worker{{counted: 90000}, {counted: 100}}, false},
		{"two that are nearly equal", engine.VLLM, []worker{{counted: 9000}, {counted: 8999}}, false},
		{"one with counts, one idle", engine.VLLM, []worker{{counted: 9000}, {idle: true}}, false},
		{"three that rise", engine.VLLM, rising, false},
		{"three that fall", engine.VLLM, []worker{rising[2], rising[1], rising[0]}, false},
		{"four that rise", engine.VLLM, many(4, worker{counted: 100}, even), false},
		{"eight that are near", engine.VLLM, many(8, worker{counted: 100}, near), false},
		{"ten that are far", engine.VLLM, many(10, worker{}, far), false},
		{"twenty-five that rise", engine.VLLM, many(25, worker{counted: 100}, even), false},
	} {
		for _, way := range []struct {
			name string
			// perRequest is true if each request goes to another process, even over an open
			// connection; else each connection has its own process.
			perRequest bool
			connection derive.Connection
			balance    balancer
		}{
			{"each request in turn", true, derive.Kept, inTurn()},
			{"each request at random", true, derive.Kept, atRandom(1)},
			{"each connection in turn, closed after a page", true, derive.Opened, inTurn()},
			{"each connection at random, closed after a page", true, derive.Opened, atRandom(3)},
			{"each connection in turn, kept open", false, derive.Kept, inTurn()},
			{"each connection at random, kept open", false, derive.Kept, atRandom(5)},
		} {
			t.Run(c.name+"/"+way.name, func(t *testing.T) {
				a, n, second, maximum := newAddress(t, c.kind), len(c.workers), 0, 0
				a.fresh = func() string { return c.workers[way.balance(n)].page(second) }
				mine := way.balance(n)
				for second = range 250 {
					if way.perRequest && second > 0 {
						mine = way.balance(n)
					}
					a.connection = way.connection
					if second == 0 {
						a.connection = derive.Opened
					}
					a.page(c.workers[mine].page(second))
					// More processes than pages in the first second, in the order of their
					// counts, are known once it is the turn of the first one again.
					known := 2
					if n > 9 {
						known = 2 * n
					}
					if second >= known {
						require.Empty(t, a.values(), "second %d", second)
					}
					maximum = max(maximum, a.deriver.Processes())
				}
				if c.exactly {
					require.Equal(t, n, maximum)
				} else {
					require.Equal(t, 2, maximum, "that is all the pages show")
				}
				require.LessOrEqual(t, a.deriver.Stats().Restarts, uint64(1))
				if n <= 9 {
					require.LessOrEqual(t, a.fastest, 100.001, "each makes 100 tokens a second")
				}
			})
		}
	}
}

// Servers that cannot be asked over new connections, and whose pages come through a proxy.
func TestSeveralProcessesAreDetectedWithoutFreshPages(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers []worker
		// until is the page from which on they are known.
		until int
	}{
		{"two, the lower first", []worker{{counted: 100}, {counted: 90000}}, 3},
		{"two, the higher first", []worker{{counted: 90000}, {counted: 100}}, 2},
		{"three that rise", many(3, worker{counted: 100}, even), 6},
		{"eight that rise", many(8, worker{counted: 100}, even), 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, balance := newAddress(t, engine.VLLM), inTurn()
			for second := range 100 {
				a.page(c.workers[balance(len(c.workers))].page(second))
				require.Equal(t, second >= c.until, a.deriver.Processes() > 0, "second %d", second)
			}
			require.LessOrEqual(t, a.deriver.Stats().Restarts, uint64(1))
		})
	}
}

// TestLatePagesOfOneProcess reads fresh pages of a process that begins again now and then, each together with
// the next page: nobody knows which of them is the older one.
func TestLatePagesOfOneProcess(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		a, born := newAddress(t, engine.VLLM), 0.0
		after := func(at float64) string {
			return worker{counted: int(100 * (at - born)), idle: true}.page(0)
		}
		late := func(at float64, crossed bool) {
			raw, page := a.parse(after(max(born, at)))
			a.deriver.AddLate(a.now, raw, page, crossed)
		}
		for second := range 200 {
			at := float64(second) + 0.5 + rng.Float64()/2
			began := rng.IntN(20) == 0
			if began {
				born = at - rng.Float64()/2
			}
			a.connection = derive.Kept
			if began {
				a.connection = derive.Reopened
			}
			taken, crossed, atLate := a.deriver.TakeFresh(), rng.IntN(2) == 0, at-0.25+rng.Float64()/2
			if taken && crossed {
				late(atLate, true)
			}
			a.page(after(at))
			if taken && !crossed {
				late(atLate, false)
			}
			require.Zero(t, a.deriver.Processes(), "processes in second %d", second)
		}
	}
}

func TestSecondProcessIsDetectedOnceItIsAdded(t *testing.T) {
	a, second := newAddress(t, engine.VLLM), 0
	workers, balance := []worker{{counted: 1000}, {counted: -300}}, inTurn()
	a.fresh = func() string { return workers[balance(1+second/30)].page(second) }
	for second = range 60 {
		a.page(workers[0].page(second))
		a.connection = derive.Kept
		if second < 30 {
			require.Zero(t, a.deriver.Processes())
		}
	}
	require.Equal(t, 2, a.deriver.Processes())
	require.Less(t, a.shown, 52)
}

func TestReplacedProcessIsRestart(t *testing.T) {
	// lives are processes, each of which answers for some seconds.
	type life struct {
		worker

		seconds int
	}
	alive := func(n, seconds int, born, apart float64) (all []life) {
		for i := range n {
			w := worker{}
			if born > 0 {
				w.born = born + apart*float64(i)
			}
			all = append(all, life{w, seconds})
		}
		return all
	}
	for _, c := range []struct {
		name     string
		lives    []life
		restarts uint64
	}{
		{"it begins at 0", alive(2, 60, 1.7e9, 60), 1},
		{"it begins at 0 and does not say when", alive(2, 60, 0, 0), 1},
		{
			"it has counted more already",
			[]life{{worker{born: 1.7e9, counted: 100}, 60}, {worker{born: 1.75e9, counted: 90000}, 60}},
			1,
		},
		{"a rollout twice within a minute", alive(3, 20, 1.7e9, 20), 2},
		{"two rollouts within a minute, of old processes", alive(3, 20, 1.7e9, 1e6), 2},
		{"a loop of crashes", alive(30, 4, 1.7e9, 4), 29},
		{"a loop of crashes, each of one page", alive(30, 1, 1.7e9, 3), 29},
		{"a crash loop without start times", alive(30, 4, 0, 0), 29},
		{
			"a crash loop with growing lifetimes",
			[]life{{worker{}, 3}, {worker{}, 6}, {worker{}, 12}, {worker{}, 24}, {worker{}, 48}},
			4,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAddress(t, engine.VLLM)
			for _, l := range c.lives {
				a.connection = derive.Reopened
				for second := range l.seconds {
					a.fresh = func() string { return l.page(second + 1) }
					a.page(l.page(second + 1))
					a.connection = derive.Kept
					require.Zero(t, a.deriver.Processes())
				}
			}
			require.Equal(t, c.restarts, a.deriver.Stats().Restarts)
			require.Less(t, a.fastest, 300.0)
		})
	}
}

// TestRestartBesideAFreshPage has a server that restarts between a page over a new connection and the next one, by
// which its counters have overtaken those of before.
func TestRestartBesideAFreshPage(t *testing.T) {
	tokens := func(n int) string {
		return fmt.Sprintf("vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} %d\n", n)
	}
	for _, c := range []struct {
		name       string
		connection derive.Connection
		processes  int
	}{
		{"the open connection was lost", derive.Reopened, 0},
		{"it was not", derive.Kept, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAddress(t, engine.VLLM)
			a.connection = derive.Kept
			a.page(tokens(10))
			a.fresh = func() string { return tokens(3) }
			a.page(tokens(17))
			a.fresh, a.connection = nil, c.connection
			a.page(tokens(20))
			require.Equal(t, c.processes, a.deriver.Processes())
		})
	}
}

func TestSingleProcessHasRates(t *testing.T) {
	for _, c := range []struct {
		name string
		born func(second int) float64
		// burst is how much it does at once in the middle, rates the number of pages with a rate in
		// a hundred.
		burst, rates int
	}{
		{"its start is always the same", func(int) float64 { return 1.7e9 }, 0, 99},
		{"its start is the same in a burst", func(int) float64 { return 1.7e9 }, 9999, 99},
		{"its start wavers", func(second int) float64 { return 1.7e9 + float64(second%3)*0.6 }, 0, 99},
		{"it does not say", func(int) float64 { return 0 }, 0, 99},
		{"it does not say, and grows in a burst", func(int) float64 { return 0 }, 9999, 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAddress(t, engine.VLLM)
			for second := range 100 {
				a.page(worker{born: c.born(second), counted: 50 + second/50*c.burst}.page(second))
			}
			require.Zero(t, a.deriver.Processes())
			require.Zero(t, a.deriver.Stats().Restarts)
			require.Equal(t, c.rates, a.rates)
		})
	}
}

// TestFallOfCounters uses a Triton with two models, of which something happens to the fourth page.
func TestFallOfCounters(t *testing.T) {
	page := func(models ...string) string { return strings.Join(models, "") }
	counts := func(model string, n int) string {
		return fmt.Sprintf("nv_inference_request_success{model=%[1]q} %[2]d\nnv_inference_count{model=%[1]q} "+
			"%[2]d\nnv_inference_exec_count{model=%[1]q} %[2]d\n", model, n)
	}
	usual := func(n int) string { return page(counts("m", 1000+10*n), counts("n", 500+5*n)) }
	for _, c := range []struct {
		name       string
		connection derive.Connection
		pages      func(n int) string
		fresh      func(n int) string
		// held lists the pages from which nothing is derived.
		held     []int
		restarts uint64
		several  bool
	}{
		{"nothing happens", derive.Kept, usual, usual, nil, 0, false},
		{"nothing happens, the connection is new each time", derive.Opened, usual, usual, nil, 0, false},
		{
			"a model is loaded again", derive.Kept,
			func(n int) string { return page(counts("m", 1000+10*n), counts("n", 5*(n-4))) },
			nil,
			[]int{4},
			0, false,
		},
		{"a model is loaded again, and again", derive.Kept, func(n int) string {
			return page(counts("m", 1000+10*n), counts("n", 400*((n-4)%3)))
		}, nil, []int{4, 7}, 0, false},
		{
			"the only model is loaded again", derive.Kept,
			func(n int) string { return counts("m", 5*(n-4)) },
			nil,
			[]int{4},
			1, false,
		},
		{"a model is unloaded, and loaded later", derive.Kept, func(n int) string {
			if n < 6 {
				return counts("m", 1000+10*n)
			}
			return page(counts("m", 1000+10*n), counts("n", 5*(n-6)))
		}, nil, nil, 0, false},
		{
			"all models are unloaded", derive.Kept,
			func(int) string { return "nv_inference_request_failure{model=\"m\"} 0\n" },
			nil, nil, 0, false,
		},
		{
			"all models are unloaded, the connection is new each time",
			derive.Opened,
			func(int) string { return "nv_inference_request_failure{model=\"m\"} 0\n" },
			nil,
			[]int{4},
			1, false,
		},
		{
			"the server restarts behind a proxy", derive.Kept,
			func(n int) string { return page(counts("m", 10*(n-4)), counts("n", 5*(n-4))) },
			nil,
			[]int{4},
			1, false,
		},
		{
			"the server restarts, and its connection is lost", derive.Reopened,
			func(n int) string { return page(counts("m", 10*(n-4)), counts("n", 5*(n-4))) },
			nil, nil, 1, false,
		},
		{"one page is of another process", derive.Kept, func(n int) string {
			if n == 4 {
				return page(counts("m", 10), counts("n", 10))
			}
			return usual(n)
		}, nil, []int{4, 5, 6, 7}, 1, true},
		{"one page is of another process, which has more of one model", derive.Kept, func(n int) string {
			if n == 4 {
				return page(counts("m", 9000), counts("n", 10))
			}
			return usual(n)
		}, nil, []int{4, 5, 6, 7}, 0, true},
		{
			"a new connection shows another process", derive.Kept, usual,
			func(n int) string { return usual(n - 1) },
			[]int{5, 6, 7},
			0, true,
		},
		{
			"a new connection shows a process that has more of one model",
			derive.Kept, usual,
			func(n int) string { return page(counts("m", 1000+10*n), counts("n", 900)) },
			[]int{5, 6, 7},
			0, true,
		},
		{"a new connection shows the restart first", derive.Kept, func(n int) string {
			if n == 4 {
				return usual(n)
			}
			return page(counts("m", 10*(n-4)), counts("n", 5*(n-4)))
		}, func(n int) string { return page(counts("m", 10*(n-4)), counts("n", 5*(n-4))) }, []int{5}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m", "n").with(func(o *derive.Options) { o.Interval = time.Second })
			a, n := &address{bench: b}, 0
			a.fresh = func() string {
				switch {
				case n < 4:
					return usual(n)
				case c.fresh != nil:
					return c.fresh(n)
				}
				return c.pages(n)
			}
			var held []int
			for n = range 8 {
				text := usual(n)
				a.connection = derive.Kept
				if n >= 4 {
					text = c.pages(n)
				}
				if n == 4 || c.connection == derive.Opened {
					a.connection = c.connection
				}
				before := a.shown
				a.page(text)
				if a.shown == before {
					held = append(held, n)
				}
			}
			require.Equal(t, c.held, held)
			require.Equal(t, c.restarts, a.deriver.Stats().Restarts)
			require.Equal(t, c.several, a.deriver.Processes() > 0)
		})
	}
}

func TestLaterOneProcessHasRatesAgain(t *testing.T) {
	a := newAddress(t, engine.VLLM)
	two := []worker{{born: 1.7e9, counted: 100}, {born: 1.70001e9, counted: 90000}}
	for second := range 30 {
		a.page(two[second%2].page(second))
	}
	require.Zero(t, a.rates)
	require.Equal(t, 2, a.deriver.Processes())
	for second := range 61 {
		a.page(two[0].page(30 + second))
		require.Equal(t, 2, a.deriver.Processes())
	}
	a.page(two[0].page(91))
	require.Zero(t, a.deriver.Processes(), "no other answered for a window")
	require.NotZero(t, a.rates)
	require.LessOrEqual(t, a.began, 1)
}

func TestRestartIsDetectedByCounters(t *testing.T) {
	const (
		prompt, tokens = "prompt_tokens_total{model_name=\"m\"} ", "generation_tokens_total{model_name=\"m\"} "
		failed         = "request_failure_total{model_name=\"m\"} "
		other          = "request_finish_total{model_name=\"n\",finished_reason=\"stop\"} "
		running        = "num_requests_running{model_name=\"m\"} "
	)
	lines := func(all ...string) string { return strings.Join(all, "\n") + "\n" }
	before := lines(prompt+"500", tokens+"900", failed+"3", running+"4")
	n := [2]string{strings.Replace(prompt, `"m"`, `"n"`, 1), strings.Replace(tokens, `"m"`, `"n"`, 1)}
	six := lines(n[0]+"7", n[1]+"8", other+"7")
	const never, unlessKept, lost, always = 0, 1, 2, 3
	for _, c := range []struct {
		name, before, after string
		// restarts is over which connections that is a restart.
		restarts int
	}{
		{"all go on", before, lines(prompt+"510", tokens+"905", failed+"3", running+"2"), never},
		{"all begin at 0", before, lines(prompt+"0", tokens+"0", failed+"0", running+"0"), always},
		{"all begin, and counted since", before, lines(prompt+"20", tokens+"40", failed+"1", running+"1"), always},
		{"all fell a little", before, lines(prompt+"499", tokens+"899", failed+"2"), always},
		{"one alone fell", before, lines(prompt+"510", tokens+"2", failed+"3", running+"4"), lost},
		{"two decreased and one is missing", before, lines(prompt+"5", tokens+"2", running+"4"), always},
		{"one decreased and two are missing", before, lines(prompt+"5", running+"4"), always},
		{"all are missing: the last model was unloaded", before, lines(running + "0"), unlessKept},
		{"some are missing", before, lines(prompt+"510", running+"4"), never},
		{"none above 0", lines(prompt+"0", tokens+"0", failed+"0", running+"4"), lines(running + "0"), never},
		{
			"the only one above 0 decreased", lines(prompt+"5", tokens+"0", failed+"0"),
			lines(prompt+"2", tokens+"0", failed+"0"), always,
		},
		{"all of one model are missing: it was unloaded", before + six, six, never},
		{
			"all of one model fell: it was loaded again", before + six,
			lines(prompt+"5", tokens+"9", failed+"1") + six, lost,
		},
		{
			"all of one model fell, the others are missing", before + six,
			lines(prompt+"5", tokens+"9", failed+"1"), always,
		},
		{"gauges fall as they like", lines(prompt+"5", running+"9"), lines(prompt+"5", running+"0"), never},
		{
			"a sum of fractions has another order",
			lines("request_queue_time_seconds_sum{model_name=\"m\"} 0.6000000000000001"),
			lines("request_queue_time_seconds_sum{model_name=\"m\"} 0.6"),
			never,
		},
	} {
		for _, connection := range []derive.Connection{derive.Kept, derive.Opened, derive.Reopened} {
			t.Run(fmt.Sprint(c.name, "/", connection), func(t *testing.T) {
				b := newBench(t, engine.NIM, "m")
				read := func(text string) (*exposition.Block, *engine.Page) {
					raw, err := b.cache.Parse([]byte(text), "", nil)
					require.NoError(t, err)
					return raw, engine.ReadPage(b.engine, raw)
				}
				raw, page := read(c.before)
				seen := b.deriver.Sight(0, raw, page, connection)
				require.False(t, seen.Restarted(), "there was no page before")
				b.deriver.Observe(seen)
				raw, page = read(c.after)
				want := c.restarts == always || c.restarts == unlessKept && connection != derive.Kept ||
					c.restarts == lost && connection == derive.Reopened
				seen = b.deriver.Sight(5*time.Second, raw, page, connection)
				require.Equal(t, want, seen.Restarted())
			})
		}
	}
}

// TestFirstCountsOverAnotherConnection has a server that had counted nothing, and then much at once: over a
// new connection another process may answer.
func TestFirstCountsOverAnotherConnection(t *testing.T) {
	const rate = `requests_per_second{model_id="m"}`
	const zero = `vllm:request_success_total{model_name="m",finished_reason="stop"} 0`
	const absent = `vllm:num_requests_running{model_name="m"} 0`
	for _, c := range []struct {
		name       string
		idle       string
		connection derive.Connection
		// before is the connection of the previous page.
		before derive.Connection
		known  bool
	}{
		{"the connection stays open", zero, derive.Kept, derive.Kept, true},
		{"it was lost", zero, derive.Opened, derive.Kept, false},
		{"it was lost, and counters appear", absent, derive.Opened, derive.Kept, false},
		{"none ever stays open", zero, derive.Opened, derive.Opened, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			busy := func(n int) values {
				return b.page(fmt.Sprintf(`vllm:request_success_total{model_name="m",finished_reason="stop"} %d`, n))
			}
			b.page(c.idle)
			b.connection = c.before
			b.page(c.idle)
			b.connection = c.connection
			if got := busy(5000); c.known {
				require.InDelta(t, 500, got.get(t, rate), 1e-9)
			} else {
				got.lacks(t, rate)
				require.InDelta(t, 5, busy(5025).get(t, rate), 1e-9)
			}
			require.Zero(t, b.deriver.Stats().Restarts)
		})
	}
}

// TestModelsThatAreLoadedTogether has two of three models loaded again, twice, while the third one goes on, or is
// lower on some pages as in another process.
func TestModelsThatAreLoadedTogether(t *testing.T) {
	for third, several := range map[string]bool{"goes on": false, "is lower": true} {
		b := newBench(t, engine.Triton, "a", "b", "c").with(func(o *derive.Options) { o.Interval = time.Second })
		for n := range 14 {
			since, c := n, 1000+10*n
			if n >= 5 {
				since = (n - 5) % 4
			}
			if third == "is lower" && n >= 5 && since == 0 {
				c = 700
			}
			b.connection = derive.Kept
			b.page(
				fmt.Sprintf(`nv_inference_request_success{model="a"} %d`, 100*since),
				fmt.Sprintf(`nv_inference_request_success{model="b"} %d`, 50*since),
				fmt.Sprintf(`nv_inference_request_success{model="c"} %d`, c),
			)
		}
		require.Equal(t, several, b.deriver.Processes() > 0, third)
	}
}
