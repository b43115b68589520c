package exposition

import (
	"net/http"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// NegotiateEscaping chooses by the Accept header how names outside the legacy character set are
// escaped. The format is always text: in OpenMetrics counters without "_total" would lose their
// type, so that what a client says about that format does not count.
func NegotiateEscaping(header http.Header) model.EscapingScheme {
	var accepted []string
	for entry := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		_, params, _ := strings.Cut(entry, ";")
		// expfmt treats q=0 as the lowest preference.
		if quality(params) > 0 && !strings.Contains(entry, "openmetrics") {
			accepted = append(accepted, entry)
		}
	}
	text := http.Header{"Accept": {strings.Join(accepted, ",")}}
	return expfmt.NegotiateAccept(text, expfmt.FmtText).ToEscapingScheme()
}

// contentType returns the content type of a page, which tells how names are escaped only if there
// are names to escape.
func contentType(utf8 bool, scheme model.EscapingScheme) string {
	if !utf8 {
		return string(expfmt.FmtText)
	}
	return string(expfmt.FmtText) + "; escaping=" + scheme.String()
}
