package replica

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

const maxBuildConfig = 4 << 20

// buildVersion returns the version of TensorRT-LLM that built the engine in a directory, from its
// config.json (NVIDIA/TensorRT-LLM, runtime/gptJsonConfig.cpp, key "version"). It returns an
// empty string without a directory or if the file cannot be read. Engines of the old builder lack
// that key. The directory may be one that the server writes, so what is no file is not opened: a pipe
// without a writer would be waited for for ever.
func buildVersion(dir string) string {
	if dir == "" {
		return ""
	}
	name := filepath.Join(dir, "config.json")
	if regular.File(name) != nil {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	var config struct {
		Version string `json:"version"`
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBuildConfig))
	if err != nil || json.Unmarshal(text, &config) != nil || len(config.Version) > 64 ||
		strings.ContainsFunc(config.Version, unicode.IsControl) {
		return ""
	}
	return config.Version
}
