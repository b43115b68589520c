package api

import (
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
	claim
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
