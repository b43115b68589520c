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

// Identity is the result of a round of requests for versions and models, and the endpoint
// that gave it.
type Identity struct {
	engine.Facts

	From *Endpoint
}

// Identity requests versions and models, and reads which version built the TensorRT engine
// in a folder, if one is configured. Early is called, from any goroutine, with the facts
// that are there while other requests are still open.
func (p *Endpoint) Identity(ctx context.Context, engineDir string, early func(engine.Facts)) Identity {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	build := buildVersion(engineDir)
	facts := p.Engine.Ask(ctx, p.briefClient(), p.Base, func(facts engine.Facts) {
		facts.BuildVersion = build
		early(facts)
	})
	from := p
	if !answered(&facts) && p.Alternative != nil {
		if found := p.Alternative.pageless(ctx); answered(&found) {
			facts, from = found, p.Alternative
		}
	}
	facts.BuildVersion = build
	return Identity{facts, from}
}

func answered(f *engine.Facts) bool { return f.Confirmed || f.Listed }

// pageless requests versions and models unless the API has a page next to it: that would be
// another server's.
func (p *Endpoint) pageless(ctx context.Context) engine.Facts {
	if engine.HasPage(ctx, p.briefClient(), p.Engine, p.Base) {
		return engine.Facts{}
	}
	return p.Engine.Ask(ctx, p.briefClient(), p.Base, nil)
}

const maxBuildConfig = 4 << 20

// buildVersion returns the version of TensorRT-LLM that built the engine in a folder, from
// its config.json (NVIDIA/TensorRT-LLM, runtime/gptJsonConfig.cpp, key "version"); empty
// without a folder, and for what cannot be read. Engines of the old builder have no such
// key.
func buildVersion(dir string) string {
	if dir == "" {
		return ""
	}
	f, err := os.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	var config struct {
		Version string `json:"version"`
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBuildConfig))
	if err != nil || json.Unmarshal(text, &config) != nil || len(config.Version) > 64 || strings.ContainsFunc(config.Version, unicode.IsControl) {
		return ""
	}
	return config.Version
}
