package exposition

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Format is the format of a response.
type Format struct {
	// Expfmt is the format with its escaping, see [Merger.LayoutIn].
	Expfmt      expfmt.Format
	ContentType string
}

const textContentType = "text/plain; version=0.0.4; charset=utf-8"

// Negotiate chooses text or OpenMetrics by the Accept header. A client that accepts both gets
// text unless openMetrics is set, because in OpenMetrics counters without "_total" (all
// nv_inference_* of Triton) lose their type. With utf8, the page has names outside the legacy
// character set, which are escaped unless the client accepts them.
func Negotiate(header http.Header, openMetrics, utf8 bool) Format {
	var accepted []string
	acceptsText, refusesText := false, false
	for entry := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		media, params, _ := strings.Cut(strings.TrimSpace(entry), ";")
		text := media == "text/plain" || media == "text/*"
		if quality(params) > 0 { // expfmt treats q=0 as the lowest preference.
			accepted = append(accepted, entry)
			acceptsText = acceptsText || text || media == "*/*"
		} else {
			refusesText = refusesText || text
		}
	}
	if !openMetrics && acceptsText && !refusesText {
		accepted = slices.DeleteFunc(accepted, func(entry string) bool { return strings.Contains(entry, "openmetrics") })
	}
	f := expfmt.NegotiateAccept(http.Header{"Accept": {strings.Join(accepted, ",")}}, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	if utf8 || f.FormatType() == expfmt.TypeOpenMetrics {
		return Format{Expfmt: f, ContentType: string(f)}
	}
	return Format{Expfmt: f, ContentType: textContentType}
}
