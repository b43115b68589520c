package engine

import (
	"slices"
	"sync"
)

// configQueue decides in which order one round asks for the configs of ready models, and for how many.
// A server may have thousands, of which few are in use.
type configQueue struct {
	models []ModelFacts
	// ready holds the numbers of the ready models by name, asked the names of the models whose config
	// was asked for in an earlier round. all is true if one round can ask for all.
	ready map[string]int
	asked map[string]bool
	all   bool

	mu sync.Mutex
	// called are models that a model calls whose config was answered in this round; order are the
	// others, of which the last ones, from turn on, take turns.
	called, order []int
	turn          int
	taken         map[int]bool
	// unanswered are the models whose request got no answer: they count as not asked about.
	unanswered map[int]bool
	// next is the number of the model whose turn is next.
	next int
}

func newConfigQueue(models []ModelFacts, earlier Earlier) *configQueue {
	c := &configQueue{
		models: models, ready: make(map[string]int), asked: make(map[string]bool),
		taken: make(map[int]bool), unanswered: make(map[int]bool),
	}
	var inTurn []int
	for i := range models {
		if models[i].State == ModelReady {
			c.ready[models[i].Name] = i
			inTurn = append(inTurn, i)
		}
	}
	if c.all = len(inTurn) <= maxConfigs; c.all {
		c.order = inTurn
		return c
	}
	facts := earlier.Facts.get()
	for i := range facts.Models {
		m := &facts.Models[i]
		c.asked[m.Name] = m.Configured || m.State == ModelReady && !m.Unasked
	}
	for _, name := range earlier.Busy {
		if i, ok := c.ready[name]; ok && !c.asked[name] {
			c.order = append(c.order, i)
		}
	}
	c.order = append(c.order, filterModels(inTurn, func(i int) bool { return !c.asked[models[i].Name] })...)
	c.next = facts.nextConfig % len(inTurn)
	c.turn = len(c.order)
	c.order = slices.Concat(c.order, inTurn[c.next:], inTurn[:c.next])
	return c
}

func filterModels(all []int, keep func(i int) bool) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !keep(i) })
}

// take returns the number of the next model to ask about, false if it was the last one of the round.
func (c *configQueue) take() (i int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.taken) < maxConfigs && len(c.called)+len(c.order) > 0 {
		if len(c.called) > 0 {
			i, c.called = c.called[0], c.called[1:]
		} else {
			i, c.order = c.order[0], c.order[1:]
			c.turn--
			if c.turn < 0 {
				c.next++
			}
		}
		if !c.taken[i] {
			c.taken[i] = true
			return i, true
		}
	}
	return 0, false
}

// call moves models that another one calls to the front, unless they were asked about before.
func (c *configQueue) call(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if i, ok := c.ready[name]; ok && !c.all && !c.asked[name] {
			c.called = append(c.called, i)
		}
	}
}

// miss records that a request got no answer.
func (c *configQueue) miss(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unanswered[i] = true
}

// mark marks the models that were not asked about in this round.
func (c *configQueue) mark(f *Facts) {
	if c.all {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.nextConfig = c.next
	for i := range f.Models {
		f.Models[i].Unasked = f.Models[i].State == ModelReady && (!c.taken[i] || c.unanswered[i])
	}
}

// worthiest returns at most limit rows, those of the lowest rank first, and the rows that are left
// out. Of rows up to the rank worth it returns up to readyLimit. The order stays if none is left out.
func worthiest[T any](rows []T, limit, worth int, rank func(row T) int) (kept, leftOut []T) {
	if len(rows) <= limit {
		return rows, nil
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b T) int { return rank(a) - rank(b) })
	n := limit
	for n < min(len(rows), readyLimit) && rank(rows[n]) <= worth {
		n++
	}
	return rows[:n], rows[n:]
}

// Rank orders rows of an index by their worth: models that serve, then models with a reason not to,
// then those that were unloaded, then those that were never loaded.
func (m ModelState) Rank() int {
	switch {
	case m.State == ModelReady:
		return rankReady
	case m.State == "":
		return rankNever
	case m.State == ModelUnavailable && (m.Reason == "" || m.Reason == unloaded):
		return rankUnloaded
	}
	return rankReason
}

// Ranks of models.
const (
	rankReady = iota
	rankReason
	rankUnloaded
	rankNever
)
