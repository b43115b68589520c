package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

const (
	// healthRounds and identityRounds are how many times as long as else the
	// answers about health and identity count while nothing shows that anything
	// has changed.
	healthRounds, identityRounds = 4, 10
)

// steady knows whether anything has changed since a server was asked all about
// itself. While nothing has, it is asked only whether it is still ready.
type steady struct {
	// health and identity are how the replica was when these were asked for last.
	health, identity signs
	// healthAt is when all about health was asked for last.
	healthAt time.Time
}

// signs are what shows that a server may have changed.
type signs struct {
	epoch              int
	reshaped, restarts uint64
}

// signs are those of now.
func (r *Replica) signs() signs {
	return signs{epoch: r.server.Epoch, reshaped: r.tally.Reshaped, restarts: r.numbers.stats().Restarts}
}

// asked notes that all about health is being asked for.
func (s *steady) asked(r *Replica) { s.health, s.healthAt = r.signs(), time.Now() }

// identified notes that the server is being asked for its identity.
func (s *steady) identified(r *Replica) { s.identity = r.signs() }

// holds says whether the answers about health count as long as the server says
// that it is ready: it is in its good state, no model of it comes or goes, and
// its page shows no change.
func (s *steady) holds(r *Replica) bool {
	h := r.answers.Health
	return h != nil && h.Settled() && r.status.State == string(assess.Ready) && s.health == r.signs() &&
		time.Since(s.healthAt) < healthRounds*r.pool.IdentityInterval
}

// identityPace is how long the answers about identity count.
func (r *Replica) identityPace() time.Duration {
	facts := r.answers.Facts
	if facts != nil && len(facts.Problems) == 0 && r.status.State == string(assess.Ready) && r.steady.identity == r.signs() {
		return identityRounds * r.pool.IdentityInterval
	}
	return r.pool.IdentityInterval
}

// seeShape has a server asked all about its health when its page has other series
// than when that was last asked: a model may have come or gone.
func (r *Replica) seeShape(ctx context.Context) {
	if r.status.Scrapes > 0 && r.steady.health != r.signs() && !r.steady.healthAt.IsZero() && !r.jobs.health.Running && !r.jobs.page.Running {
		r.askHealth(ctx)
	}
}
