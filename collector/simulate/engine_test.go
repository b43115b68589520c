package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tally is an observer that keeps count and checks every iteration.
type tally struct {
	t                         *testing.T
	e                         *engine
	begun, done, broken       int
	tokens, completed         int
	mostActive, mostScheduled int
	pauses, mostTokens        int
	overlap                   bool
}

func (o *tally) started(*request) { o.begun++ }
func (o *tally) finished(r *request) {
	o.done++
	require.Equal(o.t, r.output, r.generated)
	require.LessOrEqual(o.t, r.arrived, r.scheduled)
	require.Less(o.t, r.scheduled, r.firstToken)
	require.LessOrEqual(o.t, r.firstToken, r.lastToken)
}
func (o *tally) failed(*request) { o.broken++ }
func (o *tally) iterated(it *iteration) {
	o.tokens += it.tokens
	o.completed += it.completed
	o.mostActive = max(o.mostActive, it.active)
	o.mostScheduled = max(o.mostScheduled, it.scheduled)
	o.pauses += it.paused
	o.mostTokens = max(o.mostTokens, it.contextTokens+it.decoding)
	o.overlap = o.overlap || (it.context > 0 && it.decoding > 0)
	require.Equal(o.t, o.e.kv.blocks, it.kvUsed+it.kvFree)
	require.GreaterOrEqual(o.t, it.kvUsed, 0)
	require.GreaterOrEqual(o.t, it.kvFree, o.e.kv.evictable)
	used := 0
	for _, r := range o.e.active {
		used += r.blocks
	}
	for _, g := range o.e.kv.groups {
		if g.refs > 0 {
			used += g.blocks
		}
	}
	require.Equal(o.t, it.kvUsed, used, "blocks held by requests and prefixes are the used ones")
	require.LessOrEqual(o.t, it.scheduled, it.active)
	require.LessOrEqual(o.t, it.contextTokens+it.decoding, maxTokens)
}

// run feeds an engine from clients until end and lets it empty.
func run(t *testing.T, cfg Engine, load Workload, end time.Duration) *tally {
	t.Helper()
	c := newClients(load, 7)
	e := newEngine(cfg.withDefaults(), c.load)
	o := &tally{t: t, e: e}
	for steps := 0; ; steps++ {
		require.Less(t, steps, 5_000_000, "the executor makes no progress")
		arrival := c.next
		if arrival > end {
			arrival = never
		}
		if arrival == never && e.end == never {
			break
		}
		if arrival <= e.end {
			r := c.arrive()
			e.clamp(r)
			e.submit(arrival, r)
		} else {
			e.finish(e.end, o)
		}
	}
	require.Equal(t, int(c.ids), o.done+o.broken, "every request ends")
	require.Zero(t, e.inFlight())
	require.Zero(t, e.kv.used, "an empty executor holds no blocks")
	require.Equal(t, o.done, o.completed)
	require.Equal(t, uint64(o.tokens), e.GeneratedTokensSoFar)
	return o
}

func TestExecutorServesEveryRequestWithinItsLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   Engine
		load  Workload
		check func(t *testing.T, o *tally)
	}{
		{"an easy load mixes prefill and decoding in one iteration", Engine{}, Workload{Rate: 5}, func(t *testing.T, o *tally) {
			t.Helper()
			require.True(t, o.overlap)
			require.Zero(t, o.pauses)
		}},
		{"overload fills the active list and no more", Engine{MaxActive: 4}, Workload{Rate: 10}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Equal(t, 4, o.mostActive)
			require.LessOrEqual(t, o.mostScheduled, 4)
		}},
		{"a batch smaller than the active list leaves some waiting", Engine{MaxActive: 16, MaxBatch: 4}, Workload{Rate: 10}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Equal(t, 16, o.mostActive)
			require.Equal(t, 4, o.mostScheduled)
		}},
		{"a small KV cache pauses requests and still ends them", Engine{KVBlocks: 60}, Workload{Rate: 8, OutputTokens: 300}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Positive(t, o.pauses)
		}},
		{"long prompts keep to the token budget", Engine{}, Workload{Rate: 3, PromptTokens: 20000, MaxPrompt: 40000}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Equal(t, maxTokens, o.mostTokens)
		}},
		{"executor errors end requests too", Engine{}, Workload{Rate: 5, ErrorRate: 0.3}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Positive(t, o.broken)
		}},
		{"without shared prefixes no block is reused", Engine{}, Workload{Rate: 5}, func(t *testing.T, o *tally) {
			t.Helper()
			require.Zero(t, o.e.kv.reused)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check(t, run(t, c.cfg, c.load, time.Minute))
		})
	}
}

func TestPrefixesAreReusedAndEvicted(t *testing.T) {
	t.Parallel()
	o := run(t, Engine{}, Workload{Rate: 5, SharedPrefix: 1}, time.Minute)
	require.Positive(t, o.e.kv.reused)
	cramped := run(t, Engine{KVBlocks: 40}, Workload{Rate: 5, SharedPrefix: 1, PrefixTokens: 512, PrefixGroups: 8}, time.Minute)
	require.Less(t, float64(cramped.e.kv.reused)/float64(cramped.e.kv.missed), float64(o.e.kv.reused)/float64(o.e.kv.missed))
}

func TestStallFreezesTheIterationWhereItStood(t *testing.T) {
	t.Parallel()
	e := newEngine(Engine{}.withDefaults(), DefaultWorkload())
	o := &tally{t: t, e: e}
	e.submit(0, &request{progress: progress{target: 100}, prompt: 100, output: 3, group: -1})
	due := e.end
	e.stall(time.Millisecond, true)
	require.Equal(t, never, e.end)
	e.stall(time.Minute, false)
	require.Equal(t, time.Minute+due-time.Millisecond, e.end)
	e.finish(e.end, o)
	require.Equal(t, 1, o.begun)
}
