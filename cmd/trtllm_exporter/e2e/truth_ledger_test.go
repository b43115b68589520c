//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"slices"
	"time"
)

// span is what a number may be.
type span struct{ least, most float64 }

// holds reports whether a number is in the span, give or take what a rate loses
// when it is written in fifteen digits.
func (s span) holds(v float64) bool {
	const digits = 1e-9
	return v >= s.least-digits && v <= s.most+digits
}

// over returns a rate over some seconds, a little more or less.
func (s span) over(seconds, within float64) span {
	return span{s.least / (seconds + within), s.most / (seconds - within)}
}

// ledger is what the client knows of one server, once all requests ended.
type ledger struct {
	outcomes []outcome
	// Requests, tokens and seconds of requests, counted when they ended.
	finished, failed, answered, asked, lived steps
	// received are tokens, decoded all but the first of each request, begun and
	// waited first tokens and the seconds until then, and prompted the tokens of
	// their prompts, counted when they came; spaced are seconds between tokens.
	received, decoded, begun, waited, prompted, spaced steps
}

// steps is a number that grows: the moments at which it did, in order, and
// what it was from each on.
type steps struct {
	at  []time.Time
	sum []float64
}

// growth is one of them.
type growth struct {
	at time.Time
	by float64
}

// stepsOf adds up growths.
func stepsOf(all []growth) steps {
	slices.SortFunc(all, func(a, b growth) int { return a.at.Compare(b.at) })
	var s steps
	total := 0.0
	for _, g := range all {
		total += g.by
		s.at, s.sum = append(s.at, g.at), append(s.sum, total)
	}
	return s
}

// until returns the number at a moment.
func (s steps) until(t time.Time) float64 {
	n, _ := slices.BinarySearchFunc(s.at, t, func(at, t time.Time) int {
		if at.After(t) {
			return 1
		}
		return -1
	})
	if n == 0 {
		return 0
	}
	return s.sum[n-1]
}

// between returns how much the number grew.
func (s steps) between(from, to time.Time) float64 { return s.until(to) - s.until(from) }

// around returns how much the number may have grown between two readings for a server
// that counts up to slack before or after its client sees what it counts, and
// reads its counters at some moment of a scrape.
func (s steps) around(from, to reading, slack time.Duration) span {
	return span{
		max(0, s.between(from.scraped.Add(from.within+slack), to.scraped.Add(-slack))),
		s.between(from.scraped.Add(-slack), to.scraped.Add(to.within+slack)),
	}
}

// newLedger enters what the client saw.
func newLedger(outcomes []outcome) *ledger {
	var finished, failed, answered, asked, lived, received, decoded, begun, waited, prompted, spaced []growth
	for _, o := range outcomes {
		if o.failed {
			failed = append(failed, growth{o.ended, 1})
			continue
		}
		finished = append(finished, growth{o.ended, 1})
		answered = append(answered, growth{o.ended, float64(len(o.tokens))})
		asked = append(asked, growth{o.ended, float64(o.plan.words)})
		lived = append(lived, growth{o.ended, o.ended.Sub(o.sent).Seconds()})
		begun = append(begun, growth{o.tokens[0], 1})
		waited = append(waited, growth{o.tokens[0], o.tokens[0].Sub(o.sent).Seconds()})
		prompted = append(prompted, growth{o.tokens[0], float64(o.plan.words)})
		for _, at := range o.tokens {
			received = append(received, growth{at, 1})
		}
		for n, at := range o.tokens[1:] {
			decoded = append(decoded, growth{at, 1})
			spaced = append(spaced, growth{at, at.Sub(o.tokens[n]).Seconds()})
		}
	}
	return &ledger{
		outcomes: outcomes, finished: stepsOf(finished), failed: stepsOf(failed), answered: stepsOf(answered),
		asked: stepsOf(asked), lived: stepsOf(lived), received: stepsOf(received), decoded: stepsOf(decoded),
		begun: stepsOf(begun), waited: stepsOf(waited), prompted: stepsOf(prompted), spaced: stepsOf(spaced),
	}
}

// late returns how late the machine was at worst: the longest that a failing request
// took, which passes the same steps as any other and waits for no slot.
func (l *ledger) late() time.Duration {
	worst := time.Duration(0)
	for i := range l.outcomes {
		if o := &l.outcomes[i]; o.failed {
			worst = max(worst, o.ended.Sub(o.sent))
		}
	}
	return worst
}

// longestGap returns the longest time between two events of a stream. What fails says
// nothing of the processes between the engine and a client: while these wait for a
// processor the engine goes on, and counts tokens that the client has later.
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

// mean returns the mean of a sum over a count in a window, and what it
// may be for a server that counts up to slack before or after its client: every
// set that such a server may have counted.
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

// edges returns all moments within slack of one at which the number is another.
func (s steps) edges(t time.Time, slack time.Duration) []time.Time {
	moments := []time.Time{t.Add(-slack)}
	for _, at := range s.at {
		if at.Sub(t).Abs() < slack {
			moments = append(moments, at)
		}
	}
	return moments
}

// occupancy is where the requests are at one moment.
type occupancy struct{ running, waiting float64 }

// at returns where the requests are, as far as the client can tell. A request is in
// a slot from one pace of its own before its first token to its last: the
// executor gives each request in a slot a token an iteration. What was sent and
// has not ended, beyond what the slots hold, waits. Failing requests never come
// to a slot.
func (l *ledger) at(t time.Time) occupancy {
	flight, inSlot := 0, 0
	for i := range l.outcomes {
		o := &l.outcomes[i]
		if o.failed || o.sent.After(t) || !o.ended.After(t) {
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

// sampledAt returns the mean occupancy over the time in which a gauge may have been
// sampled, and the least and the most it was there.
func (l *ledger) sampledAt(t time.Time, age, slack time.Duration) (mean occupancy, running, waiting span) {
	const step = 10 * time.Millisecond
	running, waiting = span{slots, 0}, span{float64(len(l.outcomes)), 0}
	n := 0.0
	for at := t.Add(-age); !at.After(t.Add(slack)); at = at.Add(step) {
		s := l.at(at)
		running = span{min(running.least, s.running), max(running.most, s.running)}
		waiting = span{min(waiting.least, s.waiting), max(waiting.most, s.waiting)}
		if !at.After(t) {
			mean.running, mean.waiting, n = mean.running+s.running, mean.waiting+s.waiting, n+1
		}
	}
	mean.running, mean.waiting = mean.running/n, mean.waiting/n
	return mean, running, waiting
}
