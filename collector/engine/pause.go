package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/exposition"

// pauseSeries holds the series of a page that show whether somebody paused the server, by index.
type pauseSeries struct {
	// stopped and started count the answers to who stopped and who started it, by the index of the routes.
	stopped, started [len(sglangStops)][]int
	// held is the number of requests that wait for it, open that of all that it has, updates that of the
	// requests that replace its weights, calls that of all calls of its API, operations that of the operator's,
	// steps counts what the engine did.
	held, open, updates, calls, operations, steps []int
}

// pauseWatch is what successive pages say about whether the server is paused. A server that is not must
// never be taken for one that is.
type pauseWatch struct {
	// seen is true after the first page, steps is what the latest shows.
	seen  bool
	steps float64
	// stops holds what is known of each way to stop it. holding is true if requests seem to wait because it is
	// paused.
	stops   [len(sglangStops)]stopWatch
	holding bool
	// still is true if requests are open and the engine stood still since the page before. Updating is true if they
	// seem to wait for new weights, called if they may wait for another call of an operator.
	still, updating, called bool
}

// stopWatch is what successive pages say about one way to stop the server.
type stopWatch struct {
	// stopped and started are sums of the latest page.
	stopped, started float64
	// commanded is true if it was stopped last, unsure if that cannot be told.
	commanded, unsure bool
}

// watch reads another page of a server whose engine works if it made steps since the last one; seen is false for
// the first page.
//
// Who stops the server, starts it again: it is stopped once the stops grow by more than the starts, and works
// once they grow by less. If they grow alike, it was started and stopped again, or the reverse, and is as it was.
// At first sight it is stopped if nobody ever started it. More stops than starts may be one that was
// stopped twice, until it works, and if several is true, one stop may take several starts, so that no count
// tells. An engine that works is not stopped, whoever started it; but its last step may be on the page after the
// one with the stop.
func (w *stopWatch) watch(stopped, started float64, seen, works, several bool) {
	previous := *w
	w.stopped, w.started = stopped, started
	switch more := w.balance() - previous.balance(); {
	case !seen || w.fell(&previous):
		w.commanded = w.stopped > 0 && w.started == 0
		w.unsure = !w.commanded && (w.balance() > 0 || several && w.stopped > 0)
	case more != 0:
		w.commanded, w.unsure = more > 0, false
	case w.stopped == previous.stopped && works:
		w.commanded, w.unsure = false, previous.commanded
	}
}

// fell reports whether another process answers, which counted less.
func (w *stopWatch) fell(previous *stopWatch) bool {
	return w.stopped < previous.stopped || w.started < previous.started
}

// balance returns how much more often the server was stopped than started.
func (w *stopWatch) balance() float64 { return w.stopped - w.started }

// watch reads another page.
//
// The gauge of paused requests stays at 0 in all releases, which reset it and never count (scheduler.py and
// metrics_reporter.py of 0.5.2 to 0.5.23). Where a server was changed so that it counts them, it may keep
// its value. What is not sure counts while requests are open and the engine stands still.
//
// Whoever replaces the weights need not pause it: requests wait until that is done, those for its own health
// check too (tokenizer_manager.py, model_update_lock; the scheduler loads them between two steps). It also does
// between two steps what others ask that need no model: load adapters, check weights, write profiles. A call that
// came after the engine stood still waits as well, and is not why.
func (w *pauseWatch) watch(s *pauseSeries, b *exposition.Block) (changed bool) {
	previous := *w
	w.seen, w.steps = true, sum(b, s.steps)
	open := sum(b, s.open)
	still := previous.seen && len(s.steps) > 0 && w.steps == previous.steps && open > 0
	for i := range w.stops {
		stop := &w.stops[i]
		works, several := w.steps > previous.steps, i == stopMemory // Its weights and its cache come back one by one.
		stop.watch(sum(b, s.stopped[i]), sum(b, s.started[i]), previous.seen, works, several)
		still = still && !stop.fell(&previous.stops[i])
	}
	w.holding = still && (w.stops[stopPause].unsure || sum(b, s.held) > 0)
	w.updating = still && sum(b, s.updates) > 0
	w.still = still
	called := sum(b, s.calls) > open || sum(b, s.operations) > 0
	w.called = still && called && (previous.called || !previous.still)
	return w.said() != previous.said() || w.memoryTaken() != previous.memoryTaken() ||
		w.memoryUnsure() != previous.memoryUnsure() ||
		w.updating != previous.updating || w.called != previous.called
}

// said reports whether the pages say that the server is paused.
func (w *pauseWatch) said() bool { return w.stops[stopPause].commanded || w.holding }

// memoryTaken reports whether the pages say that its memory was taken away. Requests break it then; its API says
// nothing about that (weight_updater.py, release_memory_occupation).
func (w *pauseWatch) memoryTaken() bool { return w.stops[stopMemory].commanded }

// memoryUnsure reports whether that is not known, since it happened before the first page.
func (w *pauseWatch) memoryUnsure() bool { return w.stops[stopMemory].unsure }

// sum adds up the values of series.
func sum(b *exposition.Block, series []int) (total float64) {
	for _, i := range series {
		if v, ok := b.WatchedValue(i); ok && v > 0 {
			total += v
		}
	}
	return total
}
