package engine

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Answers holds the last answers of the API of one server. Health and Facts are nil before the
// first answer, contain only what counts (see [Answers.Reconcile]), and point to immutable values.
type Answers struct {
	Health     *Health
	Facts      *Facts
	Iterations *Iterations
	// Unconfirmed is true while the address is not known to be the server's API.
	Unconfirmed bool

	// allFacts and lastHealth are the unreconciled answers of the address, lastRound the facts of the last complete
	// round alone. Nameless is when the last round ended that did not name its server, zero if a later one did.
	allFacts, lastRound *Facts
	nameless            time.Time
	lastHealth          *Health
	// agreement is whether page and answers belong to the same server, contradictions how many
	// lists in a row have denied that since; uncompared is true until a new list is compared.
	agreement      Ternary
	contradictions int
	uncompared     bool
	// inherited is the server's health from a previous replica, nil if there is none.
	inherited *Health
	// distrusted is since when the server may have been replaced, zero if it was not.
	distrusted time.Time
}

// Distrust records that another process of the server answers than before: where its API was found, and whether it
// was ready, says nothing about this one.
func (a *Answers) Distrust() {
	if a.distrusted.IsZero() {
		a.distrusted = time.Now()
	}
	a.inherited = nil
	if a.Health != nil {
		h := *a.Health
		h.Found, h.WasLive, h.WasReady = false, false, false
		a.Health = &h
	}
}

// keepRounds limits how long the facts of a distrusted server that does not answer are kept.
const keepRounds = 10

// AddFacts adds the facts of a complete round; interval is the time between two rounds.
// A fact that was not answered keeps its earlier value, but only for keepRounds if the server is
// distrusted.
func (a *Answers) AddFacts(facts Facts, interval time.Duration) {
	previous := a.allFacts
	switch {
	case facts.EngineVersion != "":
		a.distrusted = time.Time{}
	case !a.distrusted.IsZero() && time.Since(a.distrusted) > keepRounds*interval:
		previous = nil
	}
	// An earlier list denies nothing: a server that shuts down unloads models without answering.
	a.uncompared = a.uncompared || facts.Listed || facts.unexpected()
	a.lastRound = &facts
	a.noteRound(&facts)
	a.setFacts(facts.WithEarlier(previous))
}

// Nameless reports whether a server that said which one it is has not said so in a round after a time, and not since:
// all requests were answered, and none with its version, its models, or a question for credentials.
func (a *Answers) Nameless(since time.Time) bool {
	return a.nameless.After(since) && a.allFacts.named()
}

// noteRound notes whether a round named its server. A request without an answer says nothing.
func (a *Answers) noteRound(f *Facts) {
	mayBeServer := func(p Problem) bool {
		return p.Unanswered || p.Restricted || p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden
	}
	switch {
	case f.named():
		a.nameless = time.Time{}
	case !slices.ContainsFunc(f.Problems, mayBeServer):
		a.nameless = time.Now()
	}
}

// named reports whether a server said which one it is.
func (f *Facts) named() bool { return f != nil && (answered(f) || f.EngineVersion != "") }

// AddPartialFacts adds the facts of a round with requests that are still open.
func (a *Answers) AddPartialFacts(facts Facts) {
	if a.allFacts != nil {
		facts.Problems = a.allFacts.Problems
	}
	a.setFacts(facts.WithEarlier(a.allFacts))
}

func (a *Answers) setFacts(next *Facts) {
	if !next.equal(a.allFacts) {
		a.allFacts = next
	}
}

// Earlier returns what a next round of questions may build on; the page may be nil.
func (a *Answers) Earlier(page *Page) Earlier {
	return Earlier{Facts: a.allFacts, Busy: page.Busy(), Loaded: page.loadedModels()}
}

// AddHealth adds an answer about health.
func (a *Answers) AddHealth(h Health) {
	h.HungUpAgain = h.HungUp && a.lastHealth != nil && a.lastHealth.HungUp
	a.lastHealth = &h
}

// PastHealth is the last health of a server: whether its API was found, and whether it was live. It
// counts until there are new answers. The zero value is empty.
type PastHealth struct {
	health *Health
	kind   Name
	base   string
}

// Past returns the health of the server at an endpoint, previous if there is none.
func (a *Answers) Past(p *Endpoint, previous PastHealth) PastHealth {
	if a.Health == nil || p == nil {
		return previous
	}
	return PastHealth{a.Health, p.engine.Name, p.base}
}

// IsOf reports whether a server of the kind at that endpoint had this health.
func (past PastHealth) IsOf(p *Endpoint) bool {
	return p != nil && past.kind == p.engine.Name && past.base == p.base
}

// Inherit adopts the past of another replica if it is of the same kind and at this endpoint.
func (a *Answers) Inherit(past PastHealth, p *Endpoint) {
	if past.IsOf(p) {
		a.inherited = past.health
	}
}

// ConfirmedURL returns the URL of the server's API, empty while it is not confirmed.
func (a *Answers) ConfirmedURL(p *Endpoint) string {
	if a.Unconfirmed {
		return ""
	}
	return p.URL()
}

// FoundURL returns the URL at which the server's API answered, empty if it did not.
func (a *Answers) FoundURL(p *Endpoint) string {
	if a.Health == nil || !a.Health.Found {
		return ""
	}
	return p.URL()
}

// Reconcile determines which answers count as answers of the server with the page, which is nil
// if there is none so far. An answer at a guessed location counts only if page and answers agree,
// an answer at a certain location unless they disagree.
func (a *Answers) Reconcile(p *Endpoint, page *Page) {
	if p == nil {
		return
	}
	a.compare(p, page)
	a.Unconfirmed = !a.confirmed(p, page)
	facts := a.allFacts
	if facts != nil && a.Unconfirmed {
		facts = &Facts{BuildVersion: facts.BuildVersion, Problems: facts.Problems}
	}
	if !facts.equal(a.Facts) {
		a.Facts = facts
	}
	if a.lastHealth != nil {
		a.reconcileHealth(p, page)
	}
}

// maxContradictions is how many rounds in a row must have other models than the page to prove
// another server: models may be loaded and unloaded between two requests.
const maxContradictions = 2

func (a *Answers) compare(p *Endpoint, page *Page) {
	agreement := agree(p.engine, page, a.allFacts)
	outweighed := agreement == No && p.outweighsNames(a.allFacts)
	switch {
	case page == nil:
		return
	case outweighed && a.agreement == No:
		a.agreement, a.contradictions = Unsure, 0
	case outweighed:
	case agreement == Yes:
		a.agreement, a.contradictions = agreement, 0
	case agreement == No && a.uncompared:
		a.contradictions++
		if a.agreement != Yes || a.contradictions >= maxContradictions {
			a.agreement = agreement
		}
	}
	a.uncompared = false
}

// outweighsNames reports whether an address counts for more than models with other names than on the
// page: a server of the kind answers where the operator says that its API is, or on the port of the
// page, while only one name of each model speaks against it.
func (p *Endpoint) outweighsNames(f *Facts) bool {
	return p.certain && f.Confirmed && (p.configured() || !f.rooted())
}

// isServer reports whether a server of the kind answers where the API of the one with the page is, and nothing
// speaks against it, as if one of them names no model.
func (p *Endpoint) isServer(page *Page, f *Facts) bool {
	return p.certain && f != nil && f.Confirmed && agree(p.engine, page, f) == Unsure
}

// configured reports whether the operator said where the API is.
func (p *Endpoint) configured() bool { return p.target.APIURL != "" }

func (a *Answers) confirmed(p *Endpoint, page *Page) bool {
	return a.agreement == Yes || a.agreement == Unsure &&
		(p.certain || page == nil && agree(p.engine, nil, a.allFacts) == Yes)
}

// reconcileHealth determines what counts of the last answer about health.
func (a *Answers) reconcileHealth(p *Endpoint, page *Page) {
	previous := cmp.Or(a.Health, a.inherited, &Health{})
	if a.agreement == No {
		previous = &Health{}
	}
	h := a.believed(p, page, previous)
	h.join(page, previous)
	h.Found = previous.Found || h.API == APIReady || h.API == APINotReady && h.FromServer ||
		a.agreement == Yes && h.Status != 0
	h.WasLive = h.Live || previous.WasLive
	h.WasReady = h.API == APIReady && !h.Paused && !h.Unwell || previous.WasReady && h.API != APIRefused
	h.conclude(p.engine.SamePort())
	a.Health = &h
}

// believed returns as much of the last answer as shows something about the server. While there is a page, an answer
// that it is not ready counts only from a confirmed address, or in the words of the server's kind if other requests
// get other answers, because it has consequences.
func (a *Answers) believed(p *Endpoint, page *Page, previous *Health) Health {
	h, confirmed := *a.lastHealth, a.agreement == Yes || previous.Found || p.isServer(page, a.allFacts)
	h.FromServer = h.FromServer && !a.echoed(p)
	switch {
	case h.API == APIRefused && !previous.Found:
		h.Detail = "it was not found at " + p.base + p.advice()
	case h.API == APIRefused:
	case h.API == APIFailed && a.Unconfirmed:
		h = Health{API: h.API, Status: h.Status, Detail: h.Detail, Duration: h.Duration}
	case a.Unconfirmed || h.API == APINotReady && !confirmed && page != nil && !h.FromServer:
		h = Health{Detail: a.whyUnconfirmed(p), Duration: h.Duration}
	}
	return h
}

// join adds what the page says about a server whose API says that it is ready.
func (h *Health) join(page *Page, previous *Health) {
	switch {
	case h.API != APIReady:
	case h.Unwell && !previous.WasReady && page != nil && !page.ended():
		h.API, h.Starting, h.FromServer = APINotReady, true, true
		h.Detail = "it says that it is neither ready nor healthy, and no request has ended yet: it warms up"
	case h.PausedByPage && page.Paused():
		h.pause(commanded)
	case page.MemoryTaken():
		h.pause("its memory was released, as for training, until it is resumed")
	case page.Updates():
		h.pause("it takes new weights")
	}
}

// conclude adds what an answer means after earlier ones; samePort is true if page and API share a
// port.
func (h *Health) conclude(samePort bool) {
	switch {
	case samePort && h.NoEndpoint && h.WasReady:
		h.Detail = "it has no endpoint for requests any more"
	case samePort && h.NoEndpoint:
		h.Starting = true
	case samePort:
	case h.Closed() || h.Ends():
		h.Draining = true
	}
}

// echoed reports whether nothing was ever answered but the status of the health, as proxies answer to
// any question: lately, where a proxy may answer for a server that did before.
func (a *Answers) echoed(p *Endpoint) bool {
	f := cmp.Or(a.allFacts, &Facts{})
	if p.Apart() && a.lastRound != nil {
		f = a.lastRound
	}
	alike := func(p Problem) bool { return p.Status == a.lastHealth.Status }
	other := func(p Problem) bool { return !alike(p) && !p.Unanswered }
	echoes := len(f.Problems) == 0 || slices.ContainsFunc(f.Problems, alike)
	return !f.Listed && f.EngineVersion == "" && echoes && !slices.ContainsFunc(f.Problems, other)
}

// advice says what to do about an address where another server answers, or none.
func (p *Endpoint) advice() string {
	if p.configured() {
		return "; check api_port and api_path, which say that its API is there"
	}
	return "; set api_port or api_path"
}

func (a *Answers) whyUnconfirmed(p *Endpoint) string {
	if a.agreement == No {
		return "what answers at " + p.base + " is of another kind, or has other models than the page" + p.advice()
	}
	return "nothing shows that what answers at " + p.base + " is its API (" + a.lastHealth.Detail + ")" + p.advice()
}
