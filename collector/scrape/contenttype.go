package scrape

import (
	"strings"
)

// checkContentType refuses what cannot be a text page. Everything else passes,
// a missing type included: servers often get it wrong, and the parser decides.
func checkContentType(contentType string) *Error {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return failf(ReasonContentType, "", "the answer is HTML (%.60q); check metrics_path, and whether a login page is in between", media)
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return failf(ReasonContentType, "", "the answer is JSON (%.60q); trtllm-serve's /metrics is JSON iteration stats, the text page is /prometheus/metrics: set metrics_path", media)
	case strings.Contains(media, "protobuf"):
		return failf(ReasonContentType, "", "the answer is protobuf (%.60q); have the server honour Accept, only text pages are read", media)
	}
	return nil
}
