package exposition

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Format is the format of a response.
type Format struct {
	// Expfmt is the format with its escaping, see [Layout.WithFormat].
	Expfmt expfmt.Format
	// ContentType is the Content-Type of the response.
	ContentType string
}

const textContentType = "text/plain; version=0.0.4; charset=utf-8"

// Negotiate chooses text or OpenMetrics by the Accept header. A client that accepts both
// gets text unless openMetrics is set, because in OpenMetrics counters without "_total"
// (all nv_inference_* of Triton) lose their type. With utf8, the page has names beyond
// the legacy character set, which are escaped unless the client accepts them.
func Negotiate(header http.Header, openMetrics, utf8 bool) Format {
	// expfmt treats q=0 as the lowest preference.
	accepted := without(header, refused)
	f := expfmt.NegotiateAccept(accepted, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	if f.FormatType() == expfmt.TypeOpenMetrics {
		if openMetrics || !acceptsText(header) {
			return Format{Expfmt: f, ContentType: string(f)}
		}
		text := without(accepted, func(media string) bool { return strings.Contains(media, "openmetrics") })
		f = expfmt.NegotiateAccept(text, expfmt.FmtText)
	}
	if utf8 {
		return Format{Expfmt: f, ContentType: string(f)}
	}
	return Format{Expfmt: f, ContentType: textContentType}
}

// acceptsText reports whether the client accepts the text format, by the most specific
// entries that match it.
func acceptsText(header http.Header) (accepts bool) {
	best := 0
	for media := range strings.SplitSeq(acceptHeader(header), ",") {
		name, _, _ := strings.Cut(media, ";")
		specificity := 1 + slices.Index([]string{"*/*", "text/*", "text/plain"}, strings.TrimSpace(name))
		if specificity == 0 || specificity < best {
			continue
		}
		accepts, best = specificity == best && accepts || !refused(media), specificity
	}
	return accepts
}

// refused reports whether an entry of an Accept header has quality 0.
func refused(media string) bool {
	_, params, _ := strings.Cut(media, ";")
	return !(quality(params) > 0)
}

// acceptHeader returns the lines of the Accept header as one.
func acceptHeader(header http.Header) string { return strings.Join(header.Values("Accept"), ",") }

// without returns the Accept header without some of its entries.
func without(header http.Header, remove func(media string) bool) http.Header {
	entries := slices.DeleteFunc(strings.Split(acceptHeader(header), ","), remove)
	return http.Header{"Accept": {strings.Join(entries, ",")}}
}
