package engine

import (
	_ "embed" // For the compatibility table.
	"strings"
)

//go:embed compatibility.tsv
var compatibility string

// StockVersion implements Engine, with NVIDIA's compatibility table. It is only
// right for stock images: a pip upgrade or an own build is not seen.
func (*tritonPage) StockVersion(f *Facts) (trtllm string, ok bool) {
	if f.EngineVersion == "" {
		return "", false
	}
	for row := range strings.Lines(compatibility) {
		version, rest, ok := strings.Cut(row, "\t")
		if !ok || version != f.EngineVersion {
			continue
		}
		trtllm, _, _ = strings.Cut(rest, "\t")
		return trtllm, trtllm != ""
	}
	return "", false
}
