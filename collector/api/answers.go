package api

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Answers are what the API of one server said last, nil before the first answer:
// Health and Facts as far as they count, see [Answers.Weigh]. What they point to is
// immutable.
type Answers struct {
	Health     *Health
	Facts      *engine.Facts
	Iterations *Iterations
	// told and heard are all that the address answered of facts and health, from the
	// last answer about health that counted.
	told        *engine.Facts
	heard, from *Health
	// Foreign says that the address is not known to be the server's API.
	Foreign bool
	// agreed is what page and answers said last of whether they are of one server,
	// against how often in a row answers said otherwise since; news is true while
	// answers have not been compared with the page.
	agreed  engine.Trust
	against int
	news    bool
	// earlier is what another replica heard of the server's health, nil for nothing.
	earlier *Health
	// uncertain is since when the server may be another process than the one that
	// gave the facts; zero when it is not.
	uncertain time.Time
}

// Distrust notes that the server may have been replaced since it answered.
func (a *Answers) Distrust() {
	if a.uncertain.IsZero() {
		a.uncertain = time.Now()
	}
}

// KeepRounds is for how many rounds of questions the facts are kept of a server
// that may have been replaced and does not answer.
const KeepRounds = 10

// Told takes the facts of a whole round, given the time between two. What was
// not answered is kept from before, but not for ever once the server may be
// another.
func (a *Answers) Told(facts engine.Facts, interval time.Duration) {
	before := a.told
	switch {
	case facts.EngineVersion != "":
		a.uncertain = time.Time{}
	case !a.uncertain.IsZero() && time.Since(a.uncertain) > KeepRounds*interval:
		before = nil
	}
	a.news = true
	a.accept(facts.Over(before))
}

// Early takes the facts of a round that still has open questions.
func (a *Answers) Early(facts engine.Facts) {
	if a.told != nil {
		facts.Problems = a.told.Problems
	}
	a.accept(facts.Over(a.told))
}

// accept takes facts over that are other than those before.
func (a *Answers) accept(next *engine.Facts) {
	if !next.Equal(a.told) {
		a.told = next
	}
}

// Past is what was last heard of a server's health: whether its API was found, and
// whether it was live. It counts until there are new answers; the zero value is
// nothing.
type Past struct {
	health *Health
	kind   engine.Kind
	base   string
}

// Past is what was heard of the server that is asked, nil for none; where that is
// nothing it is what was heard before.
func (a *Answers) Past(of *Endpoint, before Past) Past {
	if a.Health == nil || of == nil {
		return before
	}
	return Past{a.Health, of.Engine.Kind(), of.Base}
}

// Remember has what was heard before count, if that was of the server that is
// asked: of this kind, and at this place.
func (a *Answers) Remember(p Past, of *Endpoint) {
	if of != nil && p.kind == of.Engine.Kind() && p.base == of.Base {
		a.earlier = p.health
	}
}

// contradictions is how many rounds of answers in a row have to be of other models
// than the page until an API that agreed with it is another's: models come and go
// between two questions.
const contradictions = 2

// compare compares the answers with a page.
func (a *Answers) compare(e engine.Engine, page *engine.Page) {
	now := engine.Agree(e, page, a.told)
	switch {
	case page == nil:
		return // There is nothing to compare.
	case now == engine.TrustYes:
		a.agreed, a.against = now, 0
	case now == engine.TrustNo && a.news:
		a.against++
		if a.agreed != engine.TrustYes || a.against >= contradictions {
			a.agreed = now
		}
	}
	a.news = false
}

// counts reports whether what the address answers is the server's word.
func (a *Answers) counts(of *Endpoint, page *engine.Page) bool {
	return a.agreed == engine.TrustYes || a.agreed == engine.TrustUnknown &&
		(of.Given || page == nil && engine.Agree(of.Engine, nil, a.told) == engine.TrustYes)
}

// Heard takes an answer about health.
func (a *Answers) Heard(h Health) { a.heard = &h }

// Own is where the server's API is, empty while it is not known to be its own.
func (a *Answers) Own(of *Endpoint) string {
	if a.Foreign {
		return ""
	}
	return of.URL()
}

// Seen is where the server's API answered, empty where none did.
func (a *Answers) Seen(of *Endpoint) string {
	if a.Health == nil || !a.Health.Seen {
		return ""
	}
	return of.URL()
}

// Weigh has those answers count that are of the server which shows the page, nil for
// none so far: what a guessed address answers is a fact only when page and answers
// agree, and what a given one answers unless they disagree.
func (a *Answers) Weigh(of *Endpoint, page *engine.Page) {
	if of == nil {
		return
	}
	a.compare(of.Engine, page)
	a.Foreign = !a.counts(of, page)
	facts := a.told
	if facts != nil && a.Foreign {
		facts = &engine.Facts{BuildVersion: facts.BuildVersion, Problems: facts.Problems}
	}
	if !facts.Equal(a.Facts) {
		a.Facts = facts
	}
	if a.heard != nil {
		a.weighHealth(of, page == nil)
	}
}

// weighHealth has the last answer about health count. Not to be ready has
// consequences: while there is a page it counts only of an address that was seen to be
// the server's, or in words of its kind.
func (a *Answers) weighHealth(of *Endpoint, blind bool) {
	before := cmp.Or(a.Health, a.earlier, &Health{})
	if a.agreed == engine.TrustNo {
		before = &Health{}
	}
	h, known := *a.heard, a.agreed == engine.TrustYes || before.Seen
	switch {
	case h.API == engine.APIRefused && !before.Seen:
		h.Detail = "it was not found at " + of.Base + elsewhere
	case h.API == engine.APIRefused:
	case h.API == engine.APIFailed && a.Foreign:
		h.Health = engine.Health{API: h.API, Status: h.Status, Detail: h.Detail}
	case a.Foreign || h.API == engine.APINotReady && !known && !h.Own && !blind:
		h.Health = engine.Health{Detail: a.unproven(of)}
	}
	h.Seen = before.Seen || h.API == engine.APIReady || h.API == engine.APINotReady && h.Own || a.agreed == engine.TrustYes && h.Status != 0
	h.Lived = h.Live || before.Lived
	if now := a.Health; now == nil || a.from != a.heard || h.API != now.API || h.Detail != now.Detail || h.Seen != now.Seen {
		a.Health, a.from = &h, a.heard
	}
}

// elsewhere is the way out where an API is not where it is looked for.
const elsewhere = "; set api_port or api_path"

// unproven says why an answer about health says nothing of the server, for people.
func (a *Answers) unproven(of *Endpoint) string {
	if a.agreed == engine.TrustNo {
		return "what answers at " + of.Base + " is of another kind, or has other models than the page" + elsewhere
	}
	return "nothing shows that what answers at " + of.Base + " is its API (" + a.heard.Detail + ")" + elsewhere
}
