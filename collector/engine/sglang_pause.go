package engine

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// pauseSeries holds the series of a page that show whether somebody paused the server, by index.
type pauseSeries struct {
	// paused and continued count the answers to who paused and who continued it.
	paused, continued []int
	// held is the number of requests that wait for it, open that of all that it has, updates that of the
	// requests that replace its weights, steps counts what the engine did.
	held, open, updates, steps []int
}

// sglangPauseSeries adds a series. Answers are counted by route since 0.5.6.post2.
func sglangPauseSeries(s *pauseSeries, m *Meaning, series int, lset labels.Labels) {
	route := ""
	if m.Signal == HTTPAnswers && lset.Get("status_code") == "200" {
		route = lset.Get("endpoint")
	}
	switch {
	case route == "/pause_generation":
		s.paused = append(s.paused, series)
	case route == "/continue_generation":
		s.continued = append(s.continued, series)
	case m.Signal == RequestsPaused:
		s.held = append(s.held, series)
	case m.Signal == RequestsOpen:
		s.open = append(s.open, series)
	case m.Signal == WeightUpdates:
		s.updates = append(s.updates, series)
	case m.Signal == EngineIterations, m.Signal == GenerationTokensLive:
		s.steps = append(s.steps, series)
	}
}

// pauseWatch is what successive pages say about whether the server is paused. A server that is not must
// never be taken for one that is.
type pauseWatch struct {
	// seen is true after the first page, the others are sums of the latest.
	seen                     bool
	paused, continued, steps float64
	// commanded is true if it was paused last, unsure if that cannot be told. holding is true if requests seem to
	// wait for that.
	commanded, unsure, holding bool
	// updating is true if requests seem to wait for new weights.
	updating bool
}

// watch reads another page.
//
// Who paused the server, continues it: it is paused once the pauses grow by more than the continuations, and works
// once they grow by less. If they grow alike, it was continued and paused again, or the reverse, and is as it was.
// At first sight it is paused if nobody ever continued it. More pauses than continuations may be one that was
// paused twice, until it works. An engine that works is not paused, whoever continued it; but its last step may be
// on the page after the one with the pause.
//
// The gauge of paused requests stays at 0 in all releases, which reset it and never count (scheduler.py and
// metrics_reporter.py of 0.5.2 to 0.5.23). Where a server was changed so that it counts them, it may keep
// its value. What is not sure counts while requests are open and the engine stands still.
//
// Whoever replaces the weights need not pause it: requests wait until that is done, those for its own health
// check too (tokenizer_manager.py, model_update_lock; the scheduler loads them between two steps).
func (w *pauseWatch) watch(s *pauseSeries, b *exposition.Block) (changed bool) {
	previous := *w
	w.paused, w.continued, w.steps = sum(b, s.paused), sum(b, s.continued), sum(b, s.steps)
	w.seen = true
	known := previous.seen && w.paused >= previous.paused && w.continued >= previous.continued
	switch more := w.balance() - previous.balance(); {
	case !known:
		w.commanded = w.paused > 0 && w.continued == 0
		w.unsure = !w.commanded && w.balance() > 0
	case more != 0:
		w.commanded, w.unsure = more > 0, false
	case w.paused == previous.paused && w.steps > previous.steps:
		w.commanded, w.unsure = false, previous.commanded
	}
	still := known && len(s.steps) > 0 && w.steps == previous.steps && sum(b, s.open) > 0
	w.holding = still && (w.unsure || sum(b, s.held) > 0)
	w.updating = still && sum(b, s.updates) > 0
	return w.said() != previous.said() || w.updating != previous.updating
}

// balance returns how much more often the server was paused than continued.
func (w *pauseWatch) balance() float64 { return w.paused - w.continued }

// said reports whether the pages say that the server is paused.
func (w *pauseWatch) said() bool { return w.commanded || w.holding }

// sum adds up the values of series.
func sum(b *exposition.Block, series []int) (total float64) {
	for _, i := range series {
		if v, ok := b.WatchedValue(i); ok && v > 0 {
			total += v
		}
	}
	return total
}
