package api

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

const (
	// HealthRounds is how many times as long as else the answers about health count
	// while nothing shows that anything has changed.
	HealthRounds = 4
	// IdentityRounds is that for the answers about identity.
	IdentityRounds = 10
)

// Signs are what shows that a server may have changed: another kind of server, a
// page of other series, numbers that began again.
type Signs struct {
	Epoch              int
	Reshaped, Restarts uint64
}

// Steady knows whether anything has changed since a server was asked all about
// itself. While nothing has, it is asked only whether it is still ready. The zero
// value was never asked.
type Steady struct {
	// health and identity are the signs when these were asked for last.
	health, identity Signs
	// healthAt is when all about health was asked for last.
	healthAt time.Time
	// unanswered are the rounds of questions about identity since the last that had
	// all answers, or since the server changed.
	unanswered int
}

// AskedHealth notes that all about health is being asked for.
func (s *Steady) AskedHealth(now Signs) { s.health, s.healthAt = now, time.Now() }

// AskedIdentity notes that the server is being asked for its identity.
func (s *Steady) AskedIdentity(now Signs) {
	if s.identity != now {
		s.unanswered = 0
	}
	s.identity = now
}

// ToldIdentity notes what a round of questions about identity brought.
func (s *Steady) ToldIdentity(facts *engine.Facts) {
	if len(facts.Problems) == 0 {
		s.unanswered = 0
		return
	}
	s.unanswered++
}

// soonAgain is how many rounds that were not answered whole are repeated sooner than
// others: each after half of the time of the next.
const soonAgain = 3

// Again is how long it is to the next round of questions about identity, given the
// interval of them: shorter while only a few rounds had no answer, for a server that
// is busy with its start, or a machine that has too much to do, may answer soon.
func (s *Steady) Again(every time.Duration) time.Duration {
	if s.unanswered == 0 || s.unanswered > soonAgain {
		return every
	}
	return every >> (soonAgain + 1 - s.unanswered)
}

// HealthHolds reports whether the last answer about health counts as long as the
// server says that it is ready: no model of it comes or goes, and its page shows
// no change. Every is the interval of questions about identity.
func (s *Steady) HealthHolds(last *Health, now Signs, every time.Duration) bool {
	return last != nil && last.Settled() && s.health == now && time.Since(s.healthAt) < HealthRounds*every
}

// IdentityPace is how long the answers about identity of a server that is ready
// count, given the interval of questions about it.
func (s *Steady) IdentityPace(last *engine.Facts, now Signs, every time.Duration) time.Duration {
	if last != nil && len(last.Problems) == 0 && s.identity == now {
		return IdentityRounds * every
	}
	return s.Again(every)
}

// HealthChanged reports whether the server shows a change since all about its health
// was asked for: a model may have come or gone.
func (s *Steady) HealthChanged(now Signs) bool { return !s.healthAt.IsZero() && s.health != now }
