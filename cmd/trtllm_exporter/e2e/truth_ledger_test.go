//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"slices"
	"sort"
	"time"
)

// span is a range of a number.
type span struct{ least, most float64 }

// holds reports whether a number is in the span, rounded to fifteen digits.
func (s span) holds(v float64) bool {
	const digits = 1e-9
	return v >= s.least-digits && v <= s.most+digits
}

// over returns a rate over about that many seconds.
func (s span) over(seconds, within float64) span {
	return span{s.least / (seconds + within), s.most / (seconds - within)}
}

// ledger is what the client knows about a server after all requests have ended.
type ledger struct {
	outcomes []outcome
	// Requests, tokens and seconds, counted at the end of requests.
	finished, failed, answered, asked, lived steps
	// received counts tokens, decoded all but the first token of each request, begun first
	// tokens, waited the seconds until then, and prompted prompt tokens, all when they arrived;
	// spaced counts seconds between tokens.
	received, decoded, begun, waited, prompted, spaced steps
}

// steps is a growing number: the times at which it grew, in order, and its value from then on.
type steps struct {
	times []time.Time
	sum   []float64
}

type growth struct {
	time time.Time
	by   float64
}

// stepsOf sums the contributions of successful or of failed outcomes.
func stepsOf(outcomes []outcome, failed bool, growths func(o *outcome) []growth) steps {
	var all []growth
	for i := range outcomes {
		if o := &outcomes[i]; o.failed() == failed {
			all = append(all, growths(o)...)
		}
	}
	slices.SortFunc(all, func(a, b growth) int { return a.time.Compare(b.time) })
	var s steps
	total := 0.0
	for _, g := range all {
		total += g.by
		s.times, s.sum = append(s.times, g.time), append(s.sum, total)
	}
	return s
}

// until returns the number at a time.
func (s steps) until(t time.Time) float64 {
	n := sort.Search(len(s.times), func(i int) bool { return s.times[i].After(t) })
	if n == 0 {
		return 0
	}
	return s.sum[n-1]
}

func (s steps) between(from, to time.Time) float64 { return s.until(to) - s.until(from) }

// around returns the possible growth between two readings for a server that counts up to slack
// before or after the client, and reads its counters at some moment of a scrape.
func (s steps) around(from, to reading, slack time.Duration) span {
	return span{
		max(0, s.between(from.scraped.Add(from.within+slack), to.scraped.Add(-slack))),
		s.between(from.scraped.Add(-slack), to.scraped.Add(to.within+slack)),
	}
}

func newLedger(outcomes []outcome) *ledger {
	ended := func(failed bool, by func(o *outcome) float64) steps {
		return stepsOf(outcomes, failed, func(o *outcome) []growth { return []growth{{o.ended, by(o)}} })
	}
	first := func(by func(o *outcome) float64) steps {
		return stepsOf(outcomes, false, func(o *outcome) []growth { return []growth{{o.tokens[0], by(o)}} })
	}
	// each counts the tokens from number n on; gap is the time since the previous one.
	each := func(n int, by func(gap time.Duration) float64) steps {
		return stepsOf(outcomes, false, func(o *outcome) (all []growth) {
			for i, token := range o.tokens[n:] {
				all = append(all, growth{token, by(token.Sub(o.tokens[max(n+i-1, 0)]))})
			}
			return all
		})
	}
	one, oneToken := func(*outcome) float64 { return 1 }, func(time.Duration) float64 { return 1 }
	words := func(o *outcome) float64 { return float64(o.plan.words) }
	return &ledger{
		outcomes: outcomes,
		finished: ended(false, one),
		failed:   ended(true, one),
		answered: ended(false, func(o *outcome) float64 { return float64(len(o.tokens)) }),
		asked:    ended(false, words),
		lived:    ended(false, func(o *outcome) float64 { return o.ended.Sub(o.sent).Seconds() }),
		begun:    first(one),
		waited:   first(func(o *outcome) float64 { return o.tokens[0].Sub(o.sent).Seconds() }),
		prompted: first(words),
		received: each(0, oneToken),
		decoded:  each(1, oneToken),
		spaced:   each(1, time.Duration.Seconds),
	}
}

// late returns the longest duration of a failing request, which waits for no slot.
func (l *ledger) late() time.Duration {
	worst := time.Duration(0)
	for i := range l.outcomes {
		if o := &l.outcomes[i]; o.failed() {
			worst = max(worst, o.ended.Sub(o.sent))
		}
	}
	return worst
}

// countedLater returns how long a counter of the server was behind the client at most. The last reading has counted
// all requests.
func (l *ledger) countedLater(readings []reading, counter string) (worst time.Duration) {
	var ends []time.Time
	for i := range l.outcomes {
		ends = append(ends, l.outcomes[i].ended)
	}
	slices.SortFunc(ends, time.Time.Compare)
	before := readings[len(readings)-1].values[counter] - float64(len(ends))
	for _, r := range readings {
		if counted := int(r.values[counter] - before); counted >= 0 && counted < len(ends) {
			worst = max(worst, r.scraped.Sub(ends[counted]))
		}
	}
	return worst
}

// longestGap returns the longest time between two events of a stream. Failures do not count:
// while the processes between engine and client wait for CPU, the engine continues and counts
// tokens that the client gets later.
func (l *ledger) longestGap() time.Duration {
	worst := time.Duration(0)
	for i := range l.outcomes {
		tokens := l.outcomes[i].tokens
		for n := 1; n < len(tokens); n++ {
			worst = max(worst, tokens[n].Sub(tokens[n-1]))
		}
	}
	return worst
}

// mean returns the mean of a sum over a count in a window, with its range for a server that
// counts up to slack before or after the client.
func mean(sum, count steps, from, to time.Time, slack time.Duration) (v float64, may span) {
	v = sum.between(from, to) / count.between(from, to)
	may = span{v, v}
	for _, begin := range count.edges(from, slack) {
		for _, end := range count.edges(to, slack) {
			v := sum.between(begin, end) / count.between(begin, end)
			may = span{min(may.least, v), max(may.most, v)}
		}
	}
	return v, may
}

// edges returns all times within slack at which the number changes.
func (s steps) edges(t time.Time, slack time.Duration) []time.Time {
	moments := []time.Time{t.Add(-slack)}
	for _, moment := range s.times {
		if moment.Sub(t).Abs() < slack {
			moments = append(moments, moment)
		}
	}
	return moments
}

// occupancy is the number of running and of waiting requests at a moment.
type occupancy struct{ running, waiting float64 }

// at returns the occupancy as far as the client knows it. A request is in a slot from one
// iteration before its first token to its last token, because the executor generates a token per
// iteration for each slot. Other requests in flight wait. Failing requests never get a slot.
func (l *ledger) at(t time.Time) occupancy {
	flight, inSlot := 0, 0
	for i := range l.outcomes {
		o := &l.outcomes[i]
		if o.failed() || o.sent.After(t) || !o.ended.After(t) {
			continue
		}
		flight++
		first, last := o.tokens[0], o.tokens[len(o.tokens)-1]
		pace := last.Sub(first) / time.Duration(len(o.tokens)-1)
		if !first.Add(-pace).After(t) && last.After(t) {
			inSlot++
		}
	}
	return occupancy{running: float64(min(inSlot, slots)), waiting: float64(max(0, flight-slots))}
}

// sampledAt returns the mean, minimum and maximum occupancy over the time in which a gauge may
// have been sampled.
func (l *ledger) sampledAt(t time.Time, age, slack time.Duration) (mean occupancy, running, waiting span) {
	const step = 10 * time.Millisecond
	running, waiting = span{slots, 0}, span{float64(len(l.outcomes)), 0}
	n := 0.0
	for moment := t.Add(-age); !moment.After(t.Add(slack)); moment = moment.Add(step) {
		s := l.at(moment)
		running = span{min(running.least, s.running), max(running.most, s.running)}
		waiting = span{min(waiting.least, s.waiting), max(waiting.most, s.waiting)}
		if !moment.After(t) {
			mean.running, mean.waiting, n = mean.running+s.running, mean.waiting+s.waiting, n+1
		}
	}
	mean.running, mean.waiting = mean.running/n, mean.waiting/n
	return mean, running, waiting
}
