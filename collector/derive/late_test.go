package derive_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// perSecond is what the servers of these tests generate, at every moment.
const perSecond = 500

// latePage is a page: when it was asked for, how much later the server counted, and the last byte came.
type latePage struct{ asked, counted, arrived time.Duration }

// rateOf returns what the newest page shows, 0 if it shows none. Its server started at a time.
func (s latePage) rateOf(b *bench, started time.Duration) float64 {
	b.now, b.took = s.asked+s.arrived, s.arrived
	if s.counted < 0 { // A cache tells whole seconds.
		b.age = (-s.counted).Truncate(time.Second)
		b.took += time.Second
	}
	total := int(perSecond * (s.asked + s.counted - started).Seconds())
	return b.page(fmt.Sprintf("vllm:generation_tokens_total{model_name=\"m\",engine=\"0\"} %d\n", total))[tokensRate]
}

const tokensRate = `generation_tokens_per_second{model_id="m"}`

// A page may come late for two reasons: the server counted late, or its bytes came late. Nothing tells
// which, and neither must show more than what happened.
func TestLatePagesShowNoMoreThanHappened(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	for _, c := range []struct {
		name  string
		pages []latePage
		want  []float64
	}{
		{
			"the first page comes late",
			[]latePage{{0, 0, 4 * s}, {5 * s, 0, 0}, {10 * s, 0, 0}},
			[]float64{0, 500, 500},
		},
		{
			"the first page is counted late",
			[]latePage{{0, 4 * s, 4 * s}, {5 * s, 0, 0}, {10 * s, 0, 0}},
			[]float64{0, 100, 300},
		},
		{
			"the last page comes late",
			[]latePage{{0, 0, 0}, {5 * s, 0, 0}, {10 * s, 0, 4 * s}},
			[]float64{0, 500, 10. / 14 * 500},
		},
		{
			"the last page is counted late",
			[]latePage{{0, 0, 0}, {5 * s, 0, 0}, {10 * s, 4 * s, 4 * s}},
			[]float64{0, 500, 500},
		},
		{
			"all pages are as slow",
			[]latePage{{0, 100 * ms, 100 * ms}, {5 * s, 100 * ms, 100 * ms}, {10 * s, 100 * ms, 100 * ms}},
			[]float64{0, 5 / 5.1 * 500, 10 / 10.1 * 500},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			for i, page := range c.pages {
				require.InDelta(t, c.want[i], page.rateOf(b, 0), 1, "page %d", i)
			}
		})
	}
}

// checkLate plays pages of three bytes: what happens, how late the server counts, and how late the last
// byte comes.
func checkLate(t *testing.T, moves []byte) {
	t.Helper()
	b := newBench(t, engine.VLLM, "m")
	started, next := time.Duration(0), time.Duration(0)
	for ; len(moves) >= 3; moves = moves[3:] {
		share := func(b byte) time.Duration { return scrapeEvery * time.Duration(b) / 256 }
		page := latePage{asked: next, counted: share(moves[1])}
		page.arrived = page.counted + share(moves[2])
		next = max(next+scrapeEvery, page.asked+page.arrived+1)
		switch moves[0] % 16 {
		case 0: // The server has just started again.
			started, b.connection = page.asked, derive.Reopened
		case 1, 2: // The page is lost.
			continue
		case 3: // So are many.
			next += 10 * scrapeEvery
		}
		rate := page.rateOf(b, started)
		require.LessOrEqual(t, rate, perSecond+1.0, "%+v", page)
	}
}

func TestNoRateExceedsWhatHappened(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		checkLate(t, randomMoves(rng))
	}
}

func FuzzNoRateExceedsWhatHappened(f *testing.F) {
	for interruption := range byte(4) {
		f.Add([]byte{9, 0, 200, 9, 200, 0, interruption, 0, 200, 9, 0, 0, 9, 200, 0})
	}
	f.Fuzz(func(t *testing.T, moves []byte) {
		if len(moves) > 600 {
			t.Skip("long enough is long enough")
		}
		checkLate(t, moves)
	})
}

// A cache between exporter and server gives its page for a while, and says in whole seconds for how long it
// has stored it.
func TestCachedPagesShowNoMoreThanHappened(t *testing.T) {
	t.Parallel()
	for keeps := time.Second; keeps <= 20*time.Second; keeps += 700 * time.Millisecond {
		t.Run(keeps.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, engine.VLLM, "m")
			highest := 0.0
			for asked := time.Duration(0); asked < 2*time.Minute; asked += scrapeEvery {
				highest = max(highest, latePage{asked: asked, counted: asked.Truncate(keeps) - asked}.rateOf(b, 0))
			}
			require.LessOrEqual(t, highest, perSecond+1.0)
			require.GreaterOrEqual(t, highest, 0.8*perSecond)
		})
	}
}
