package collector

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

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
