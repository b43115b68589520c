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

// address is an address with several processes behind it.
type address struct {
	*bench

	read *engine.Page
	// fastest is the highest shown rate of tokens, rates the number of pages with a rate, began
	// the number of apparent restarts.
	fastest      float64
	rates, began int
}

// newAddress returns an address that is scraped every second, over windows of a minute.
func newAddress(t *testing.T, kind engine.Kind) *address {
	t.Helper()
	return &address{bench: newBench(t, kind, "m").with(func(o *derive.Options) { o.Interval = time.Second })}
}

// page reads a page a second after the previous one.
func (a *address) page(text string) {
	a.tb.Helper()
	raw, err := a.cache.Parse([]byte(text), "", nil)
	require.NoError(a.tb, err)
	if a.read == nil || a.read.Shape() != raw.Shape() {
		a.read = engine.ReadPage(a.engine, raw)
	}
	a.now += time.Second
	if a.deriver.Restarted(a.now, raw, a.read) {
		a.began++
	}
	a.deriver.Observe(a.now, raw, a.read)
	a.out = a.deriver.Render(raw)
	if rate, ok := a.values()[`generation_tokens_per_second{model_id="m"}`]; ok {
		a.fastest = max(a.fastest, rate)
		a.rates++
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
	}{{"prompt_tokens_total{", 30}, {"generation_tokens_total{", 10}, {"request_success_total{finished_reason=\"stop\",", 1}, {"num_preemptions_total{", 0}} {
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

// inTurn returns workers that answer in turn.
func inTurn(second, n int) int { return second % n }

func TestAlternatingProcessesAreDetected(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	random := func(_, n int) int { return draw.IntN(n) }
	seldom := func(second, _ int) int { return min(1, second%100/99) }
	oldest := func(n int, each worker) (all []worker) {
		for i := range n {
			w := each
			if w.born > 0 {
				w.born += float64(10 * i)
			}
			w.counted *= int(math.Pow(8, float64(i)))
			if w.id != "" {
				w.id = strconv.Itoa(i)
			}
			all = append(all, w)
		}
		return all
	}
	for _, c := range []struct {
		name     string
		kind     engine.Kind
		workers  []worker
		next     func(second, n int) int
		restarts uint64
		exactly  bool
	}{
		{"two with start times", engine.VLLM, []worker{{born: 1.7e9, counted: 100}, {born: 1.70001e9, counted: 90000}}, inTurn, 1, true},
		{"two, the older one second", engine.VLLM, []worker{{born: 1.70001e9, counted: 90000}, {born: 1.7e9, counted: 100}}, inTurn, 1, true},
		{"ten in the order of their start", engine.VLLM, oldest(10, worker{born: 1.7e9, counted: 100}), inTurn, 2, true},
		{"ten at random", engine.VLLM, oldest(10, worker{born: 1.7e9, counted: 100}), random, 3, true},
		{"one of a hundred pages is of another", engine.VLLM, oldest(2, worker{born: 1.7e9, counted: 100}), seldom, 1, true},
		{"idle ones with different start times", engine.VLLM, []worker{{born: 1.7e9, idle: true}, {born: 1.70001e9, idle: true}}, inTurn, 1, true},
		{"two with names", engine.Dynamo, oldest(2, worker{id: "a", counted: 100}), inTurn, 1, true},
		{"workers that started together", engine.VLLM, []worker{{born: 1.7e9, counted: 100}, {born: 1.7e9 + 0.05, counted: 90000}}, inTurn, 1, true},
		{"two without start times, the lower first", engine.VLLM, []worker{{counted: 100}, {counted: 90000}}, inTurn, 1, true},
		{"two without start times, the higher first", engine.VLLM, []worker{{counted: 90000}, {counted: 100}}, inTurn, 1, true},
		{"two without start times, nearly equal", engine.VLLM, []worker{{counted: 9000}, {counted: 8000}}, inTurn, 0, true},
		{"one with counts, one idle", engine.VLLM, []worker{{counted: 9000}, {idle: true}}, inTurn, 2, true},
		{"three without start times", engine.VLLM, oldest(3, worker{counted: 1000}), inTurn, 2, false},
		{"ten without start times", engine.VLLM, oldest(10, worker{counted: 1000}), inTurn, 2, false},
		{"ten without start times, at random", engine.VLLM, oldest(10, worker{counted: 1000}), random, 4, false},
		{"four of one server that started together", engine.VLLM, []worker{{born: 1.7e9, counted: 1000}, {born: 1.7e9 + 0.03, counted: 1070}, {born: 1.7e9 + 0.06, counted: 1140}, {born: 1.7e9 + 0.09, counted: 1210}}, inTurn, 0, false},
		{"two nearly equal ones, at random", engine.VLLM, []worker{{counted: 1000}, {counted: 1050}}, random, 0, false},
		{"one of a hundred pages is of another, higher", engine.VLLM, []worker{{counted: 1000}, {counted: 90000}}, seldom, 0, true},
		{"one of a hundred pages is of another, lower", engine.VLLM, []worker{{counted: 90000}, {counted: 1000}}, seldom, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAddress(t, c.kind)
			maximum := 0
			for second := range 250 {
				a.page(c.workers[c.next(second, len(c.workers))].page(second))
				if second > 150 { // The first evidence is too old.
					maximum = max(maximum, a.deriver.Processes())
				}
			}
			if c.exactly {
				require.Equal(t, len(c.workers), maximum)
			} else {
				require.GreaterOrEqual(t, maximum, 2)
			}
			require.LessOrEqual(t, a.deriver.Stats().Restarts, c.restarts)
			require.Less(t, a.fastest, 300.0, "each makes 100 tokens a second")
		})
	}
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
		{"it has counted more already", []life{{worker{born: 1.7e9, counted: 100}, 60}, {worker{born: 1.75e9, counted: 90000}, 60}}, 1},
		{"a rollout twice within a minute", alive(3, 20, 1.7e9, 20), 2},
		{"two rollouts within a minute, of old processes", alive(3, 20, 1.7e9, 1e6), 2},
		{"a loop of crashes", alive(30, 4, 1.7e9, 4), 29},
		{"a loop of crashes, each of one page", alive(30, 1, 1.7e9, 3), 29},
		{"a crash loop without start times", alive(30, 4, 0, 0), 29},
		{"a crash loop with growing lifetimes", []life{{worker{}, 3}, {worker{}, 6}, {worker{}, 12}, {worker{}, 24}, {worker{}, 48}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAddress(t, engine.VLLM)
			for _, l := range c.lives {
				for second := range l.seconds {
					a.page(l.page(second + 1))
					require.Zero(t, a.deriver.Processes())
				}
			}
			require.Equal(t, c.restarts, a.deriver.Stats().Restarts)
			require.Less(t, a.fastest, 300.0)
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
		{"its start wavers", func(second int) float64 { return 1.7e9 + float64(second%3)*0.6 }, 0, 89},
		{"it does not say", func(int) float64 { return 0 }, 0, 99},
		{"it does not say, and grows less than fivefold", func(int) float64 { return 0 }, 2149, 99},
		{"it does not say, and grows fivefold", func(int) float64 { return 0 }, 2150, 98},
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

func TestAlternatingProcessesHaveNoRates(t *testing.T) {
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
	for _, c := range []struct {
		name, before, after string
		want                bool
	}{
		{"all go on", before, lines(prompt+"510", tokens+"905", failed+"3", running+"2"), false},
		{"all begin at 0", before, lines(prompt+"0", tokens+"0", failed+"0", running+"0"), true},
		{"all begin, and counted since", before, lines(prompt+"20", tokens+"40", failed+"1", running+"1"), true},
		{"one alone fell", before, lines(prompt+"510", tokens+"2", failed+"3", running+"4"), false},
		{"two decreased and one is missing", before, lines(prompt+"5", tokens+"2", running+"4"), true},
		{"all are missing", before, lines(running + "0"), true},
		{"some are missing", before, lines(prompt+"510", running+"4"), false},
		{"none above 0", lines(prompt+"0", tokens+"0", failed+"0", running+"4"), lines(running + "0"), false},
		{"both that were above 0 decreased", lines(prompt+"5", tokens+"7", failed+"0", running+"4"), lines(prompt+"0", tokens+"0", failed+"0", running+"4"), true},
		{"the only one above 0 decreased", lines(prompt+"5", tokens+"0", failed+"0", running+"4"), lines(prompt+"2", tokens+"0", failed+"0", running+"4"), true},
		{"one decreased and two are missing", before, lines(prompt+"5", running+"4"), true},
		{"a stopping server unloads its models", lines(prompt+"500", tokens+"900", failed+"3", other+"7"), lines(other + "8"), false},
		{"all fell to half", lines(prompt+"500", tokens+"900", failed+"4"), lines(prompt+"250", tokens+"450", failed+"2"), true},
		{"all fell to more than half", lines(prompt+"500", tokens+"900", failed+"4"), lines(prompt+"251", tokens+"450", failed+"2"), false},
		{"four of six fell", before + six, lines(prompt+"5", tokens+"9", failed+"1") + lines(n[0]+"1", n[1]+"8", other+"8"), true},
		{"three of six fell", before + six, lines(prompt+"5", tokens+"9", failed+"1") + lines(n[0]+"7", n[1]+"8", other+"8"), false},
		{"gauges fall as they like", lines(prompt+"5", running+"9"), lines(prompt+"5", running+"0"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.NIM, "m")
			read := func(text string) (*exposition.Block, *engine.Page) {
				raw, err := b.cache.Parse([]byte(text), "", nil)
				require.NoError(t, err)
				return raw, engine.ReadPage(b.engine, raw)
			}
			raw, page := read(c.before)
			require.False(t, b.deriver.Restarted(0, raw, page), "there was no page before")
			b.deriver.Observe(0, raw, page)
			raw, page = read(c.after)
			require.Equal(t, c.want, b.deriver.Restarted(5*time.Second, raw, page))
		})
	}
}
