package api

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

const (
	// HealthRounds is the factor by which health counts longer while nothing shows a change.
	HealthRounds = 4
	// IdentityRounds is that factor for the identity.
	IdentityRounds = 10
	// earlyRetries is how many rounds without all answers are repeated early, each after
	// half of the time of the next.
	earlyRetries = 3
)

// Signs are what shows that a server may have changed: another kind of server, a page with
// other series, counters that restarted.
type Signs struct {
	Epoch              int
	Reshaped, Restarts uint64
}

// Pacer decides how soon a server is called again. While its signs do not change, it is
// called only for whether it is still ready. The zero value has called nothing.
type Pacer struct {
	// health and identity are the signs at the last requests for them, healthTime the time of
	// the last for health.
	health, identity Signs
	healthTime       time.Time
	// unanswered counts the rounds of identity since the last that had all answers, or
	// since the server changed.
	unanswered int
}

// HealthRequested notes that the whole health is being requested.
func (p *Pacer) HealthRequested(now Signs) { p.health, p.healthTime = now, time.Now() }

// IdentityRequested notes that the identity is being requested.
func (p *Pacer) IdentityRequested(now Signs) {
	if p.identity != now {
		p.unanswered = 0
	}
	p.identity = now
}

// IdentityReceived notes the result of a round of requests for the identity.
func (p *Pacer) IdentityReceived(facts *engine.Facts) {
	if len(facts.Problems) == 0 {
		p.unanswered = 0
		return
	}
	p.unanswered++
}

// RetryInterval returns how long to wait for the next round of requests for the identity:
// the interval, less after the first rounds without all answers, since a server that is
// starting, or a busy machine, may answer soon.
func (p *Pacer) RetryInterval(interval time.Duration) time.Duration {
	if p.unanswered == 0 || p.unanswered > earlyRetries {
		return interval
	}
	return interval >> (earlyRetries + 1 - p.unanswered)
}

// HealthValid reports whether the last answer about health counts as long as the server
// reports that it is ready: none of its models is loading, and its page shows no change.
// Interval is the one between requests for the identity.
func (p *Pacer) HealthValid(last *Health, now Signs, interval time.Duration) bool {
	return last != nil && last.Settled() && p.health == now && time.Since(p.healthTime) < HealthRounds*interval
}

// IdentityInterval returns how long the identity of a ready server counts, given the
// interval of requests for it.
func (p *Pacer) IdentityInterval(last *engine.Facts, now Signs, interval time.Duration) time.Duration {
	if last != nil && len(last.Problems) == 0 && p.identity == now {
		return IdentityRounds * interval
	}
	return p.RetryInterval(interval)
}

// HealthOutdated reports whether the server changed since its whole health was requested.
func (p *Pacer) HealthOutdated(now Signs) bool { return !p.healthTime.IsZero() && p.health != now }
