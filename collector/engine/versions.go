package engine

import (
	_ "embed" // For the compatibility table.
	"strings"
)

//go:embed compatibility.tsv
var compatibility string

// StockVersion is the TensorRT-LLM version of the stock image with that
// Triton version, as NVIDIA's compatibility table states it; false for
// versions the table does not state. It is only right for stock images: a pip
// upgrade or an own build is not seen.
func StockVersion(triton string) (string, bool) {
	if triton == "" {
		return "", false
	}
	for row := range strings.Lines(compatibility) {
		version, rest, ok := strings.Cut(row, "\t")
		if !ok || version != triton {
			continue
		}
		trtllm, _, _ := strings.Cut(rest, "\t")
		return trtllm, trtllm != ""
	}
	return "", false
}
