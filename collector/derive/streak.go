package derive

// entryState is what is remembered of an entry from one page to the next.
type entryState struct {
	// streak is what happened since a request last ended well.
	streak streak
	// page is what the newest page showed: it explains some of what the next one shows.
	page entryPage
	// ownEnded and ownFailed are requests of the exporter that the next pages may count.
	ownEnded, ownFailed pending
	// served is when a request last ended well, acquitted when one last did although failures counted, which speaks
	// for the entry for a window.
	served, acquitted int64
}

// entryPage is what one page shows of an entry.
type entryPage struct {
	// well is true if requests of others ended well.
	well bool
	// failed is how many failed, once how many ended in the engine, each counted once.
	failed, once float64
}

// streak is what happened at an entry since a request last ended well, across missed pages and idle times.
type streak struct {
	// Of its failures some are counted once, some twice, and some net of others. Pages counts the pages that showed
	// more than any before: most.
	single  float64
	doubled doubledGrowth
	net     netFailures
	pages   int
	most    float64
	// since is the time of the page before the first failure, last that of the page with the latest.
	since, last int64
	// pardoned failures count no more, as the pages spoke for the replica since. Accused is the time of the page
	// before the first failure that counts.
	pardoned failures
	accused  int64
	// seemed is how many requests seem to have ended well on the newest page, of which the next one may
	// show that they did not; once it did, disproved is true, and only settled ones count.
	seemed    float64
	disproved bool
	// lost counts requests that ended in the engine and failed to be answered, unknown those that ended there beside
	// failures: nobody knows how they were answered.
	lost, unknown float64
	// left is how many clients left whose requests do not count as canceled: they may count as failed.
	left float64
	// accepted is when a request ended of which nobody knows how.
	accepted int64
}

// failures are failed requests, and how many pages showed them.
type failures struct {
	requests float64
	pages    int
}

func (f failures) without(o failures) failures {
	return failures{f.requests - o.requests, f.pages - o.pages}
}

// doubledGrowth holds increases of counters of [doubledFailures].
type doubledGrowth struct{ double, steps, otherEntries, refused float64 }

func (g *doubledGrowth) requests() float64 {
	return max(once(g.double, g.steps, g.otherEntries)-g.refused, 0)
}

// netFailures are those that are counted net of others, and late while what they are net of moves.
type netFailures struct {
	// settled is how much the net counters grew, own the exporter's part of it. Unsettled is how many requests of
	// others failed since what they are net of moved last; they settle later.
	settled, own, unsettled float64
}

func (n *netFailures) requests() float64 { return max(n.settled-n.own, n.unsettled) }

// failures returns the failed requests of others.
func (s *streak) failures() failures {
	return failures{s.single + s.doubled.requests() + s.net.requests(), s.pages}
}

// goesOn begins a page on which no request is known to have ended well, and so many seem to have.
func (s *streak) goesOn(w *Window, seems float64) {
	s.disproved = s.disproved || s.seemed > 0
	s.seemed = 0
	if !s.disproved {
		s.seemed = max(seems, 0)
	}
	failed := s.failures()
	if failed.requests == 0 {
		s.since = w.previousAt
	}
	s.pardoned = failures{min(s.pardoned.requests, failed.requests), min(s.pardoned.pages, failed.pages)}
	if failed.requests == s.pardoned.requests {
		s.accused = w.previousAt
	}
}

// pardon ends an accusation and its memory: the next one begins with later failures. Which of those on
// the newest page came before what speaks for the replica is not known.
func (s *streak) pardon() {
	s.pardoned = s.failures()
	s.unknown = 0
}

// acquittedWithin reports whether a request that ended well speaks for the entry in this window.
func (s *entryState) acquittedWithin(w *Window) bool {
	return s.acquitted > 0 && w.now-s.acquitted <= w.length
}

// watchEnds returns how many requests of others are known to have ended, and how many seem to have.
func (s *entryState) watchEnds(e *watchedEntry, w *Window) (ended, seems float64) {
	seems = e.ended.growth(w) - s.ownEnded.n
	settled := e.ended.settled(w)
	page := entryPage{well: settled > 0, failed: e.failed.growth(w), once: w.growth(e.once)}
	lost, elsewhere := s.unanswered(e, w, page.failed)
	s.page = page
	s.streak.lost += lost
	ended = s.ownEnded.without(settled)
	if s.failsLately(w) {
		s.streak.unknown += elsewhere
	} else {
		ended += elsewhere
	}
	return ended, seems
}

// failsLately reports whether requests failed on the newest page, or within the window before it.
func (s *entryState) failsLately(w *Window) bool {
	return s.page.failed > 0 || s.streak.failures().requests > 0 && w.now-s.streak.last <= w.length
}

// unanswered returns how many requests had ended in the engine by the previous page and are still not answered well;
// failed is how many answers failed on the newest page. Requests are lost as far as failed answers explain them: the
// API failed on what the engine did well. The others were answered elsewhere, as over gRPC, or are further completions
// of requests that failed, if the page does not tell how many those were; where the API answers everything, there are
// no others. After a page on which requests of others ended well, all of them may be further completions of those.
func (s *entryState) unanswered(e *watchedEntry, w *Window, failed float64) (lost, elsewhere float64) {
	before := &s.page
	if before.well {
		return 0, 0
	}
	all := e.ended.unanswered(w)
	if len(e.once) > 0 {
		all = min(all, before.once)
	}
	lost = min(all, before.failed+failed)
	if e.ended.hasAnswers() && !e.answered {
		elsewhere = all - lost
	}
	return lost, elsewhere
}

// watchFailures counts the failed requests of others.
func (s *entryState) watchFailures(e *watchedEntry, w *Window) {
	k := &s.streak
	single, double := w.growth(e.failed.single), w.growth(e.failed.double)
	switch {
	case len(e.failed.net) > 0:
		s.watchNet(e.failed.net, w)
	case len(e.failed.double) > 0:
		double = 2 * s.ownFailed.without(double/2)
	default:
		single = s.ownFailed.without(single)
	}
	k.single += single
	k.doubled.double += double
	if n := e.doubled; n != nil {
		k.doubled.steps += w.growth(n.steps)
		k.doubled.otherEntries += w.growth(n.otherEntries)
		k.doubled.refused += w.growth(n.refused)
	}
	if failed := k.failures().requests; failed > k.most {
		k.pages++
		k.most, k.last = failed, w.now
	}
}

// watchNet follows counters that are net of others.
func (s *entryState) watchNet(all []*netCounter, w *Window) {
	var failed, minus, settled float64
	for _, n := range all {
		failed += w.growth(n.plus)
		minus += w.growth(n.minus)
		settled += w.growth([]int{n.column})
	}
	k := &s.streak
	others := s.ownFailed.without(failed)
	k.net.own += failed - others
	k.net.settled += settled
	k.net.unsettled += others
	if minus > 0 {
		k.net.unsettled = 0
	}
	if others > 0 {
		k.last = w.now
	}
}
