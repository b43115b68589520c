package derive

// ownRequests tells which pages may show requests that the exporter sent itself: those are no
// witnesses of how the requests of others fare.
type ownRequests struct {
	running int
	// ended counts those that ended since the last page, unanswered the ones without an answer.
	ended, unanswered int
	// answered is true if one was answered since the last page. onPage tells whether the newest
	// page may show an answer, before whether the one before it may.
	answered, onPage, before bool
	// inFlight is how many the newest page may show in flight, mayEnd how many it may show ended, and
	// dropped how many of those that it may count as arrived never were answered.
	inFlight, mayEnd, dropped float64
	// limit is how many tokens each of them may generate, mayGenerate how many of these the newest page
	// may show.
	limit, mayGenerate float64
}

// nextPage begins a page. Servers may count a request one page late.
func (o *ownRequests) nextPage() {
	now := o.running > 0 || o.answered
	o.onPage = now || o.before
	o.before = o.answered
	o.answered = false
	late := o.inFlight
	o.inFlight = float64(o.running + o.ended)
	o.mayEnd = max(o.inFlight, late)
	if o.mayGenerate = o.mayEnd * o.limit; o.mayEnd == 0 {
		o.limit = 0
	}
	o.dropped = float64(o.unanswered)
	o.ended, o.unanswered = 0, 0
}

// BeginOwn tells that the exporter sends a request to the server, for at most so many tokens.
func (d *Deriver) BeginOwn(tokens int) {
	d.own.running++
	d.own.limit = max(d.own.limit, float64(tokens))
}

// EndOwn tells that such a request to a model ended, and whether it was answered.
func (d *Deriver) EndOwn(model string, answered bool) {
	d.own.running = max(d.own.running-1, 0)
	d.own.answered = d.own.answered || answered
	d.own.ended++
	if !answered {
		d.own.unanswered++
	}
	for i := range d.index.watch.works {
		k := &d.index.watch.works[i]
		if s := d.works[i]; k.callee == "" || k.callee == model {
			s.spell.answered = s.spell.answered || answered
		}
	}
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		if !e.part && e.callee != "" && e.callee != model {
			continue // Its parts may see it, too.
		}
		s := d.entries[i]
		if answered {
			s.ownEnded.add(&e.ended)
		} else {
			s.ownFailed.add(&e.failed)
		}
	}
}

// Convict tells whether a question has proven that the work stands still. Clients that leave do not
// acquit a server that does not answer: the work then stands until something moves, the process
// restarts, or the server answers.
func (d *Deriver) Convict(proven bool) { d.convicted = proven }

// Pause tells whether the server says that somebody paused it, or put it to sleep. What stands still meanwhile stands
// since it went on.
func (d *Deriver) Pause(paused bool) { d.paused = paused }

// pending counts own requests that the server may still count.
type pending struct {
	n     float64
	pages int
}

// For pendingPages a request of ours may still be counted, and for settlingPages more in a difference.
const pendingPages, settlingPages = 2, 1

func (p *pending) add(counted *tally) {
	p.n++
	p.pages = pendingPages
	if len(counted.net) > 0 {
		p.pages += settlingPages
	}
}

// without returns what of the growth of a counter is not ours, and ends a page.
func (p *pending) without(growth float64) float64 {
	ours := min(p.n, growth)
	p.n -= ours
	p.pages--
	if p.pages <= 0 {
		p.n = 0
	}
	return growth - ours
}
