package engine

import (
	"time"
)

const (
	// HealthRounds is the factor by which health is valid longer while nothing indicates a change.
	HealthRounds = 4
	// IdentityRounds is the same factor for the identity.
	IdentityRounds = 10
	// earlyRetries is how many incomplete rounds are repeated early, each after half the delay of
	// the next.
	earlyRetries = 3
)

// Signs holds signs that a server may have changed: another kind of server, a page with other
// series, counter resets.
type Signs struct {
	Epoch              int
	Reshaped, Restarts uint64
}

// Pacer decides how soon a server is queried again. While its signs do not change, only its
// readiness is queried. The zero value is ready to use.
type Pacer struct {
	// health and identity are the signs at the last query for each, healthTime is when health was
	// queried.
	health, identity Signs
	healthTime       time.Time
	// unlisted is how many models the page counted at the last query of which the facts did not know.
	unlisted int
	// incomplete counts the rounds of identity since the last complete one, or since the server
	// changed.
	incomplete int
}

// HealthRequested records that the complete health is being queried.
func (p *Pacer) HealthRequested(now Signs) { p.health, p.healthTime = now, time.Now() }

// IdentityRequested records that the identity is being queried, while the page counts as many models of
// which the facts do not know.
func (p *Pacer) IdentityRequested(now Signs, unlisted int) {
	if p.identity != now {
		p.incomplete = 0
	}
	p.identity, p.unlisted = now, unlisted
}

// IdentityReceived records the result of a round of identity requests.
func (p *Pacer) IdentityReceived(facts *Facts) {
	if len(facts.Problems) == 0 {
		p.incomplete = 0
		return
	}
	p.incomplete++
}

// RetryInterval returns how long to wait before the next round of identity requests: interval, or
// less after the first incomplete rounds, since a starting server or a busy machine may answer
// soon.
func (p *Pacer) RetryInterval(interval time.Duration) time.Duration {
	if p.incomplete == 0 || p.incomplete > earlyRetries {
		return interval
	}
	return interval >> (earlyRetries + 1 - p.incomplete)
}

// HealthValid reports whether the last answer about health is valid as long as the server reports
// that it is ready: no model is loading, and the page shows no change. The interval is the one
// between identity requests.
func (p *Pacer) HealthValid(previous *Health, now Signs, interval time.Duration) bool {
	return previous != nil && previous.settled() && p.health == now && time.Since(p.healthTime) < HealthRounds*interval
}

// IdentityInterval returns how long the identity of a ready server is valid, given the interval
// between identity requests. The next round is early while models were not asked about, or once the page
// counts more of which the facts do not know, and a server that lists none may get one.
func (p *Pacer) IdentityInterval(previous *Facts, now Signs, unlisted int, interval time.Duration) time.Duration {
	if previous.Unasked() > 0 || unlisted > p.unlisted {
		return interval >> earlyRetries
	}
	if previous.get().Listed && len(previous.Models) == 0 {
		return p.RetryInterval(interval)
	}
	if previous != nil && len(previous.Problems) == 0 && p.identity == now {
		return IdentityRounds * interval
	}
	return p.RetryInterval(interval)
}

// HealthOutdated reports whether the server changed since its complete health was queried.
func (p *Pacer) HealthOutdated(now Signs) bool { return !p.healthTime.IsZero() && p.health != now }
