package replica

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// answers are what the server's API said last, nil before the first answer.
type answers struct {
	health     *health
	facts      *engine.Facts
	iterations *iterations
	// uncertain is since when the server may be another process than the one that
	// told the facts; zero when it is not.
	uncertain time.Time
}

// distrust notes that the server may have been replaced since it answered.
func (a *answers) distrust() {
	if a.uncertain.IsZero() {
		a.uncertain = time.Now()
	}
}

// keepRounds is for how many rounds of questions the facts are kept of a server
// that may have been replaced and does not answer.
const keepRounds = 10

// told takes the facts of a whole round. What was not answered is kept from
// before, but not for ever once the server may be another.
func (a *answers) told(facts engine.Facts, interval time.Duration) {
	before := a.facts
	switch {
	case facts.EngineVersion != "":
		a.uncertain = time.Time{}
	case !a.uncertain.IsZero() && time.Since(a.uncertain) > keepRounds*interval:
		before = nil
	}
	a.accept(facts.Over(before))
}

// early takes the facts of a round that still has open questions.
func (a *answers) early(facts engine.Facts) {
	if a.facts != nil {
		facts.Problems = a.facts.Problems
	}
	a.accept(facts.Over(a.facts))
}

// accept takes facts over that are other than those before.
func (a *answers) accept(next *engine.Facts) {
	if !next.Equal(a.facts) {
		a.facts = next
	}
}

// askIdentity asks for versions and models, unless they are being asked for.
func (r *Replica) askIdentity(ctx context.Context) {
	base := r.apiURL()
	if base == "" || r.jobs.identity.running {
		return
	}
	e, ask, timeout, dir := r.server.Engine, r.asker(base), r.target.Timeout, r.pool.EngineDir
	life, epoch := ctx, r.server.Epoch
	begin(ctx, r, &r.jobs.identity, "identity", func(ctx context.Context) engine.Facts {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		build := buildVersion(dir)
		facts := e.Ask(ctx, ask, base, func(early engine.Facts) {
			early.BuildVersion = build
			r.hand(life, epoch, func() { r.answers.early(early) })
		})
		facts.BuildVersion = build
		return facts
	}, func(facts engine.Facts, failed error) {
		if failed == nil {
			r.answers.told(facts, r.pool.IdentityInterval)
		}
	})
}

// buildLimit bounds an engine's config.json.
const buildLimit = 4 << 20

// buildVersion is the version of TensorRT-LLM that built the engine in a
// folder, from its config.json (NVIDIA/TensorRT-LLM, runtime/gptJsonConfig.cpp,
// key "version"); empty without a folder, and for what cannot be read. Engines
// of the old builder have no such key.
func buildVersion(dir string) string {
	if dir == "" {
		return ""
	}
	f, err := os.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	text, err := io.ReadAll(io.LimitReader(f, buildLimit))
	if err != nil {
		return ""
	}
	var config struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(text, &config) != nil || len(config.Version) > 64 || strings.ContainsFunc(config.Version, unicode.IsControl) {
		return ""
	}
	return config.Version
}
