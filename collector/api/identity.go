package api

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Identity asks for versions and models, and reads which version built the
// TensorRT engine in a folder, if one is given. Early is called with the facts
// that are there while questions are still open, from any goroutine.
func (p *Endpoint) Identity(ctx context.Context, engineDir string, early func(engine.Facts)) Identity {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	build := buildVersion(engineDir)
	facts := p.Engine.Ask(ctx, p.rarely(), p.Base, func(facts engine.Facts) {
		facts.BuildVersion = build
		early(facts)
	})
	from := p
	if !answered(&facts) && p.Elsewhere != nil {
		if found := p.Elsewhere.stray(ctx); answered(&found) {
			facts, from = found, p.Elsewhere
		}
	}
	facts.BuildVersion = build
	return Identity{facts, from}
}

// answered reports whether an API of the kind answered.
func answered(f *engine.Facts) bool { return f.Shown || f.Listed }

// stray asks for versions and models where no page is known to be: an API that has a
// page of its own next to it is another server's.
func (p *Endpoint) stray(ctx context.Context) engine.Facts {
	if engine.HasPage(ctx, p.rarely(), p.Engine, p.Base) {
		return engine.Facts{}
	}
	return p.Engine.Ask(ctx, p.rarely(), p.Base, nil)
}

// Identity is what a round of questions brought, and from which place.
type Identity struct {
	engine.Facts

	From *Endpoint
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
