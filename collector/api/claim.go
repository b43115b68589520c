package api

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// claim is all that an address answered, and whether it is the API of the server
// that shows the page.
type claim struct {
	told *engine.Facts
	// heard is the last answer about health, from the one that counted last.
	heard, from *Health
	// Foreign says that the address is not known to be the server's API.
	Foreign bool
	// agreed is what page and answers said last of whether they are of one server,
	// against how often in a row answers said otherwise since; news is true while
	// answers have not been compared with the page.
	agreed  engine.Trust
	against int
	news    bool
}

// contradictions is how many rounds of answers in a row have to be of other models
// than the page until an API that agreed with it is another's: models come and go
// between two questions.
const contradictions = 2

// compare compares the answers with a page.
func (c *claim) compare(e engine.Engine, page *engine.Page) {
	now := engine.Agree(e, page, c.told)
	switch {
	case page == nil:
		return // There is nothing to compare.
	case now == engine.TrustYes:
		c.agreed, c.against = now, 0
	case now == engine.TrustNo && c.news:
		c.against++
		if c.agreed != engine.TrustYes || c.against >= contradictions {
			c.agreed = now
		}
	}
	c.news = false
}

// counts reports whether what the address answers is the server's word.
func (c *claim) counts(of *Endpoint, page *engine.Page) bool {
	return c.agreed == engine.TrustYes || c.agreed == engine.TrustUnknown &&
		(of.Given || page == nil && engine.Agree(of.Engine, nil, c.told) == engine.TrustYes)
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
