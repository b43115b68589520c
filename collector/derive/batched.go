package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// batchCheck finds out whether requests to a model consisted of several inferences. Of such ones the C++ backend
// of TensorRT-LLM observes the tokens of one, so that sums of tokens are no totals.
type batchCheck struct {
	// column is not on any page: 1 once the page has shown such a request.
	column                      int
	inferences, succeeded, hits []int
	// tokens holds the columns that have no value then.
	tokens []int
}

// batchedOf returns what shows batched requests to the engine of a model id, nil if the page counts tokens otherwise.
func (ix *index) batchedOf(m *Model) *batchCheck {
	b := &batchCheck{}
	counted := make(map[*Model]bool)
	for _, g := range m.all(
		engine.PromptTokens, engine.GenerationTokens, engine.RequestPromptTokens, engine.RequestOutputTokens,
	) {
		if !g.perRequest || !g.instance.has(engine.ModelInferences) || !g.instance.has(engine.ModelSuccess) {
			continue
		}
		b.tokens = append(b.tokens, ix.columnsOf(&g.value)...)
		b.tokens = append(b.tokens, ix.columnsOf(&g.sum.numbers)...)
		if !counted[g.instance] {
			counted[g.instance] = true
			b.inferences = append(b.inferences, ix.allColumns(g.instance.groups(engine.ModelInferences))...)
			b.succeeded = append(b.succeeded, ix.allColumns(g.instance.groups(engine.ModelSuccess))...)
			b.hits = append(b.hits, ix.allColumns(g.instance.groups(engine.ModelCacheHits))...)
		}
	}
	if len(b.tokens) == 0 {
		return nil
	}
	b.column = ix.addReplaced(b.inferences[0], "batched", m.id)
	ix.batched = append(ix.batched, b)
	return b
}

// setBatched sets whether there were batched requests in the row of the next page, and takes away what that did not
// count whole. A request is counted at several places, one after the other, so more inferences than requests ended
// only if they were more on the page before than requests are now. Answers from a cache are no inferences.
func (w *Window) setBatched(all []*batchCheck, row []float64) {
	for _, b := range all {
		requests := sumOf(row, b.succeeded) - sumOf(row, b.hits)
		before := sumOf(w.current, b.inferences)
		restarted := sumOf(row, b.inferences) < before
		row[b.column] = 0
		switch {
		case math.IsNaN(before), restarted:
			row[b.column] = flag(sumOf(row, b.inferences) > requests)
		case w.current[b.column] > 0, before > requests:
			row[b.column] = 1
		}
		if row[b.column] > 0 {
			for _, c := range b.tokens {
				row[c] = math.NaN()
			}
		}
	}
}

// batched detects requests of several inferences, of which the server counts the tokens of one.
func batched(v *View, m *Model) finding {
	if m.batched == nil {
		return finding{}
	}
	n, ok := v.window.Last(m.batched.column)
	return finding{possible: true, wrong: n > 0, ok: ok}
}

// observesOne reports whether tokens are those of one inference of each request, however many it has. Models of the
// Python backend that hand requests over observe each.
func (ix *index) observesOne(g *group) bool {
	ofEach := func(source int) bool { return ix.building.sources[source].meaning.PerRequest }
	sources := slices.Concat(g.value.sources, g.sum.sources)
	return !ix.handsOver(g.name) && slices.ContainsFunc(sources, ofEach)
}
