package assess

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Memory is what must be remembered of a replica from one verdict to the next. Its zero value
// knows nothing. It is not safe for concurrent use.
type Memory struct {
	// Canary is the record of the canary.
	Canary canary.Record

	// page is what the newest page says, previous what the one before it said, or the newest one if that is of a
	// process that is gone.
	page, previous derive.Conditions
	// failedScrapes counts the failed scrapes in a row, the first of which failed at noPageSince.
	failedScrapes int
	noPageSince   time.Time
	// ended is true if the process has ended since the last page, replaced if the API was ready after that.
	ended, replaced bool

	// notReadySince is when the API began to answer that the server is not ready. denied is its last answer, at
	// deniedAt, if the server does not serve by that.
	notReadySince time.Time
	denied        *engine.Health
	deniedAt      time.Time
	// denial is what a server serves while it says that it serves nothing. disputed is true if the newest page
	// shows answers although its list of models says so, overruled if the page after it did, too: those requests
	// came since.
	denial              denial
	disputed, overruled bool

	// accused is since when a question could tell more about what the pages say.
	accused time.Time
	// questions holds the last answers to such questions by what was asked, see [Question].
	questions map[inquiry]answer
	// tried holds the last try to ask about each entry while something is accused.
	tried map[derive.Entry]try
	// asked is when the last question was sent, about which entry, and what the pages said then. awaited is
	// that time until it is answered.
	asked, awaited time.Time
	about          derive.Entry
	then           derive.Conditions
	// again is true if it must be repeated until it is answered, whatever the pages say, and at once when
	// something moves, if work stood still when it was asked.
	again bool

	// canaryHeard is the canary's last answer, or silence, that says anything; its result is empty before the first.
	canaryHeard answer
	others      others
	// passing and canaryPassing follow the requests of others through the engine since the last question, and since
	// the canary's last request.
	passing, canaryPassing passage
}

// Resume returns what is remembered after a change of configuration, which shows nothing about the server. A question
// without an answer yet is asked again, and so is one that is asked in another way now; what the canary showed is
// forgotten then.
func (m *Memory) Resume(alike bool) Memory {
	next := *m
	if !alike || !m.awaited.IsZero() {
		next.asked = time.Time{}
	}
	next.awaited = time.Time{}
	if alike {
		next.Canary = m.Canary.Resume()
	} else {
		next.Canary, next.canaryHeard, next.others = canary.Record{}, answer{}, others{}
	}
	return next
}

// ForgetWord forgets what the server said of itself: it was asked where its API is not.
func (m *Memory) ForgetWord() {
	m.notReadySince, m.denied, m.denial = time.Time{}, nil, denial{}
	m.disputed, m.overruled = false, false
}

// inquiry is what a question is about, and whether the server's own health check was asked.
type inquiry struct {
	entry    derive.Entry
	selfTest bool
}

// try is a question that was sent. Void is true if one about that entry said nothing since the accusation began, as
// where a model takes no text; why is what was answered then.
type try struct {
	sent time.Time
	void bool
	why  string
}

// baseline is what the first page showed that was requested after a moment: what later ones show beyond that
// happened since.
type baseline struct {
	set              bool
	served, inFlight float64
	movements        int
}

// passed reports whether a page was requested after the baseline of a moment, which it becomes if there is none.
func (b *baseline) passed(since, requested time.Time, c *derive.Conditions) bool {
	switch {
	case since.IsZero() || !requested.After(since):
		return false
	case !b.set:
		*b = baseline{set: true, served: c.Served, inFlight: c.InFlight, movements: c.Movements}
		return false
	}
	return true
}

// progressed reports whether tokens of others moved between two pages, or requests of theirs ended well.
func progressed(before, now *derive.Conditions) bool {
	return now.Movements > before.Movements || now.Served > before.Served
}

// answers reports whether the newest page shows more requests that ended at models which need no other one.
func (m *Memory) answers() bool { return m.page.Answered > m.previous.Answered }

// passage follows requests of others through an engine.
type passage struct {
	// steps is how many pages showed steps of the engine, advances how many showed progress.
	steps, advances int
	// outside is how many had left the engine, or not reached it, inside how many it held. Both are known only while
	// nothing moves behind it.
	outside, inside float64
	known           bool
	// overtaken is true if more have left the engine since than it held: some of them came later. Empty is true if a
	// page shows that it went on and holds none: not the question either.
	overtaken, empty bool
	// asked is when the request was sent.
	asked time.Time
}

func passageOf(c *derive.Conditions) (p passage) {
	p.steps, p.advances, p.inside = c.Steps, c.Advances, c.InFlight
	for _, still := range c.Still {
		if still.Outside {
			p.outside += still.InFlight
			p.known = c.InFlightKnown
		}
	}
	return p
}

// page compares a page with the one before the request; own is that request itself.
func (p *passage) page(requested time.Time, newest passage) {
	const own = 1
	if !requested.After(p.asked) {
		return
	}
	p.overtaken = p.overtaken || p.known && newest.known && newest.outside-p.outside > p.inside+own
	p.empty = p.empty || newest.known && newest.inside == 0 && newest.advances > p.advances
}

// answer is the last answer to a question. Silent is when the first of the questions was sent that got no
// word in a row up to this one, or zero. Succeeded is true if an earlier one was answered. Refuted is true if
// requests of others ended well after an error: then it was the question's own.
type answer struct {
	canary.Report
	baseline

	silent             time.Time
	succeeded, refuted bool
	// steps is how many pages had shown steps of the engine when it was sent.
	steps int
}

// page takes a page into account that was requested at a time. It returns what is known of the answer then.
func (a answer) page(requested time.Time, c *derive.Conditions) answer {
	if a.Result.Blames() && a.passed(a.At, requested, c) {
		a.refuted = a.refuted || c.Served > a.served
	}
	return a
}

// silentSince returns since when questions get no word, after one more; before is what it returned for the
// last one.
func silentSince(before time.Time, report *canary.Report) time.Time {
	switch {
	case !report.Result.Silent():
		return time.Time{}
	case before.IsZero():
		return report.Asked
	}
	return before
}

// others follows the requests of others since the canary's request was sent, or the first of those
// that failed in a row.
type others struct {
	baseline

	asked time.Time
	// ended is how many requests ended well since then, moved is true if tokens moved. Known is true
	// once pages have shown that, or do not come.
	ended float64
	moved bool
	known bool
}

// denial is what a router serves while it says that it has no worker, a worker that says it is not ready, or a server
// whose API is closed. Requests in flight when that began may end well nevertheless. When more do or, where nobody
// knows how many those were, when they took less than the time since, some came afterwards.
type denial struct {
	baseline

	// said is what it says, as long as nothing refutes it, see [Word.refutable].
	said Word
	// since is when it first said so, or zero, newest when the newest page was requested.
	since, newest time.Time
	// refuted is when the last page was requested that shows such requests to have ended well, or zero. For a
	// window after it what the router says is not believed.
	refuted time.Time
}

func (d *denial) page(requested time.Time, c *derive.Conditions) {
	before := d.newest
	d.newest = requested
	if !d.passed(d.since, requested, c) {
		return
	}
	more := c.InFlightKnown && c.Served-d.served > d.inFlight
	later := !c.InFlightKnown && c.Lasted > 0 && c.Lasted < before.Sub(d.since)
	if more || later || !d.refuted.IsZero() && c.Served > d.served {
		d.refuted, d.served = requested, c.Served
	}
}

func (o *others) acquit() bool { return o.ended > 0 || o.moved }

// Page takes a page into account that was requested at a time.
func (m *Memory) Page(requested time.Time, c *derive.Conditions) {
	m.failedScrapes = 0
	m.ended, m.replaced = false, false
	m.previous, m.page = m.page, *c
	m.overruled = m.overruled || m.disputed && m.answers()
	m.denial.page(requested, c)
	m.passing.page(requested, passageOf(c))
	m.canaryPassing.page(requested, passageOf(c))
	for asked, last := range m.questions {
		m.questions[asked] = last.page(requested, c)
	}
	o := &m.others
	if o.passed(o.asked, requested, c) {
		o.known = true
		o.ended = max(o.ended, c.Served-o.served)
		o.moved = o.moved || c.Movements > o.movements
	}
	if o.acquit() {
		m.Canary.Acquit()
	}
}

// NoPage takes a failed scrape into account, and whether that shows that the process has ended.
func (m *Memory) NoPage(now time.Time, ended bool) {
	if m.failedScrapes == 0 {
		m.noPageSince = now
	}
	m.failedScrapes++
	m.ended, m.replaced = m.ended || ended, m.replaced && !ended
	if m.failedScrapes > 1 {
		m.others.known = true
	}
	if m.failedScrapes > 1 && ended {
		m.NewProcess()
	}
}

// Health takes an answer of the API about its health into account. Silence is none: what the server said
// before it stands.
func (m *Memory) Health(now time.Time, h *engine.Health) {
	switch h.Said() {
	case engine.SaidNothing:
	case engine.SaidReady:
		m.denied = nil
	default:
		denied := *h
		m.denied, m.deniedAt = &denied, now
	}
	m.replaced = m.replaced || m.ended && h.API == engine.APIReady
	switch {
	case h.API == engine.APIReady:
		m.notReadySince = time.Time{}
	case h.API == engine.APINotReady && m.notReadySince.IsZero():
		m.notReadySince = now
	}
}

// Heard takes into account what the replica says of itself, by a verdict.
func (m *Memory) Heard(now time.Time, w Word) {
	m.disputed = w == SaysUnservedWrongly
	m.overruled = m.overruled && m.disputed
	switch said := w.refutable(); {
	case said == "":
		m.denial = denial{}
	case said != m.denial.said, w.Denies() && !m.denial.refuted.IsZero():
		m.denial = denial{said: said, since: now}
	}
}

// NewProcess forgets what was known of the process that answered before.
func (m *Memory) NewProcess() {
	m.ForgetWord()
	m.awaited, m.accused = time.Time{}, time.Time{}
	m.questions, m.tried, m.again = nil, nil, false
	m.others, m.canaryHeard = others{}, answer{}
	for _, p := range []*passage{&m.passing, &m.canaryPassing} {
		*p = passage{steps: p.steps, advances: p.advances}
	}
	m.page.Still = nil // What stood still is gone with its process.
	m.previous = m.page
	m.Canary.NewProcess()
}

// MayAsk reports whether a question could tell more about what the pages say, since when, and that
// enough time has passed since the last one.
func (m *Memory) MayAsk(now time.Time) (since time.Time, ok bool) {
	entries, _ := m.answerable()
	switch {
	case len(entries) == 0:
		m.accused, m.tried = time.Time{}, nil
	case m.accused.IsZero():
		m.accused = now
	}
	due := m.asked.IsZero() || now.Sub(m.asked) >= canary.ConfirmEvery ||
		m.again && len(m.then.Still) > 0 && progressed(&m.then, &m.page)
	return m.accused, (len(entries) > 0 || m.again) && due
}

// answerable returns the entries against which the pages say something that the answer to a question could settle:
// first those of which only failures end, then those of which nothing moves. Failing is the number of the former.
func (m *Memory) answerable() (entries []derive.Entry, failing int) {
	for _, f := range m.page.Failing {
		if !f.Acquitted {
			entries = append(entries, f.Entry)
		}
	}
	failing = len(entries)
	for _, still := range m.page.Still {
		if !still.Partly {
			entries = append(entries, still.Entry)
		}
	}
	return entries, failing
}

// About returns the entry that a question must be about: of those that are accused, the one that was
// asked about longest ago. It is empty if there is only one. Fails is true if the question must take the way of
// clients, since only failures end there: the server's own health check may pass by what fails. A server that remembers
// that its check failed needs that one first.
func (m *Memory) About() (entry derive.Entry, fails bool) {
	entries, failing := m.answerable()
	if len(entries) == 0 {
		return derive.Entry{}, false
	}
	entry = slices.MinFunc(entries, func(a, b derive.Entry) int {
		return m.tried[a].sent.Compare(m.tried[b].sent)
	})
	return entry, !m.again && slices.Contains(entries[:failing], entry)
}

// Asked notes that a question was sent about an entry, or the server as a whole.
func (m *Memory) Asked(now time.Time, entry derive.Entry) {
	m.asked, m.awaited, m.about, m.then = now, now, entry, m.page
	if m.tried == nil {
		m.tried = make(map[derive.Entry]try)
	}
	before := m.tried[entry]
	m.tried[entry] = try{now, before.void, before.why}
	m.passing = passageOf(&m.page)
	m.passing.asked = now
}

// Answer notes what became of the question. An empty report says nothing, so that another entry may be asked about
// at once, and neither does a question without a word of an answer while the engine went on: it may have waited
// behind others. A server that remembers that its own health check failed is asked until it succeeds.
func (m *Memory) Answer(report canary.Report, remembered bool) {
	m.awaited = time.Time{}
	if last, ok := m.tried[m.about]; ok && report.Result == "" {
		m.tried[m.about] = try{last.sent, true, report.Reason}
		if !last.void {
			m.asked = time.Time{} // The next one need not wait.
		}
	}
	if report.Result == "" || m.waited(&report, &m.passing) {
		return
	}
	if m.questions == nil {
		m.questions = make(map[inquiry]answer)
	}
	asked := inquiry{m.about, report.SelfTest}
	last := m.questions[asked]
	m.questions[asked] = answer{
		Report:    report,
		silent:    silentSince(last.silent, &report),
		succeeded: last.succeeded || report.Answered(),
		refuted:   last.refuted && !report.Answered(),
		steps:     m.passing.steps,
	}
	m.again = remembered && !report.Answered()
}

// waited reports whether a question without a word may have waited behind others, since the engine went on.
func (m *Memory) waited(report *canary.Report, p *passage) bool {
	return report.Result.Silent() && m.page.Advances > p.advances && !p.overtaken && !p.empty
}

// CanaryAsked notes that a request of the canary was sent.
func (m *Memory) CanaryAsked(now time.Time) {
	m.canaryPassing = passageOf(&m.page)
	m.canaryPassing.asked = now
	if !m.Canary.Fails() {
		m.others = others{asked: now}
	}
}

// CanaryAnswered notes that a request of the canary ended and was recorded.
func (m *Memory) CanaryAnswered() {
	if s := m.Canary.Last(); s != nil && !m.waited(&s.Last, &m.canaryPassing) {
		m.canaryHeard = answer{Report: s.Last, silent: silentSince(m.canaryHeard.silent, &s.Last)}
	}
	if m.others.acquit() {
		m.Canary.Acquit()
	}
}

// OthersServed reports whether pages have shown requests of others that end well, or their tokens.
func (m *Memory) OthersServed() bool { return m.page.Served > 0 || m.page.Movements > 0 }

// ForgetPages forgets what the pages said: the next one is the first of others.
func (m *Memory) ForgetPages() { m.page, m.previous = derive.Conditions{}, derive.Conditions{} }

// Recall adds what is remembered to the evidence. What pages say for and against the server rests on successive ones
// of one process.
func (m *Memory) Recall(e *Evidence) {
	if e.Processes == 0 {
		e.Failing, e.AllStill, e.Uncounted = m.page.Failing, m.page.Still, m.page.Uncounted
	}
	e.Scrape.Again, e.Scrape.Since = m.failedScrapes > 1, m.noPageSince
	e.Replaced = m.replaced && e.API.SamePort && !e.API.Apart
	e.API.NotReadySince = m.notReadySince
	e.ServesNevertheless = e.Now.Sub(m.denial.refuted) <= e.Window
	e.AnswersNevertheless, e.Moves = m.answers() || m.overruled, progressed(&m.previous, &m.page)
	if m.denied != nil && e.API.Silent() {
		e.API.Health, e.API.SilentSince = *m.denied, m.deniedAt
		e.API.Detail += ", and has not said anything since"
	}
	e.Questions, e.Rejected = m.recallQuestions(), m.tried[m.about].why
	e.Canary.Failed, e.Canary.Late, e.Canary.Twice = m.Canary.Failing()
	e.Canary.Twice = e.Canary.Twice && m.others.known && !m.mayWait()
	e.Canary.Others, e.Canary.Moved = m.others.ended, m.others.moved
}

// mayWait reports whether the canary may have waited behind requests of others that take long: the page shows no
// step, and not a word came for less time than it takes to ask twice.
func (m *Memory) mayWait() bool {
	return m.page.Stepless && onlyOne(m.canaryHeard.silent, m.canaryHeard.Asked)
}

// recallQuestions returns the answers that say anything, of questions and of the canary, and the question
// that has none yet.
func (m *Memory) recallQuestions() []Question {
	all := []Question{{Entry: m.about, AwaitedSince: m.awaited}}
	for asked, last := range m.questions {
		all = append(all, m.recall(asked.entry, last))
	}
	if m.canaryHeard.Result != "" {
		all = append(all, m.recall(derive.Entry{}, m.canaryHeard))
	}
	return all
}

// recall returns what became of a question; nothing if a healthy server may give that answer to it.
func (m *Memory) recall(entry derive.Entry, last answer) Question {
	switch {
	case last.Idle(m.Canary.Succeeded()):
		return Question{}
	case last.Result.Blames() && (last.refuted || m.Canary.Refuted() || m.Canary.NeverSucceeded()):
		return Question{} // The server gave such answers while requests of others ended well, or always.
	case last.Answered():
		unshown := last.Frames == 0 && m.page.Steps <= last.steps
		return Question{
			Entry:    entry,
			Asked:    last.Asked,
			Answer:   Answered,
			Unshown:  unshown,
			SelfTest: last.SelfTest,
		}
	}
	return Question{
		Entry:       entry,
		Asked:       last.Asked,
		Answer:      Failed,
		Reason:      last.Reason,
		Overload:    last.Result == canary.Overload,
		SilentSince: last.silent,
		Cut:         last.Result == canary.Connect,
		Refused:     last.Result.Doubtful(),
		Untried:     last.Result.Blames() && !last.succeeded && !m.Canary.Succeeded(),
	}
}
