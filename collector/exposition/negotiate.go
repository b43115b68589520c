package exposition

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Format is the format of one answer.
type Format struct {
	// Expfmt names the format with its escaping; [Layout.WithFormat] has its layout.
	Expfmt expfmt.Format
	// ContentType is what the answer says of itself.
	ContentType string
}

// textContentType is the text format's own.
const textContentType = "text/plain; version=0.0.4; charset=utf-8"

// Negotiate chooses text or OpenMetrics by the Accept header. Text wins over
// OpenMetrics for a client that takes both, unless openMetrics is set: in
// OpenMetrics the servers' counters that do not end in "_total" (all of
// nv_inference_*) have no type, in text they keep it. A layout with names beyond
// the legacy character set needs a client that says so, else names are escaped.
func Negotiate(header http.Header, openMetrics, utf8 bool) Format {
	// To expfmt what is refused is only liked least.
	willing := without(header, refused)
	f := expfmt.NegotiateAccept(willing, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	if f.FormatType() == expfmt.TypeOpenMetrics {
		if openMetrics || !acceptsText(header) {
			return Format{Expfmt: f, ContentType: string(f)}
		}
		text := without(willing, func(media string) bool { return strings.Contains(media, "openmetrics") })
		f = expfmt.NegotiateAccept(text, expfmt.FmtText)
	}
	if utf8 {
		return Format{Expfmt: f, ContentType: string(f)}
	}
	return Format{Expfmt: f, ContentType: textContentType}
}

// acceptsText reports whether the client would take the text format, by the entries
// that speak of it most exactly.
func acceptsText(header http.Header) (accepts bool) {
	exact := 0
	for media := range strings.SplitSeq(accepted(header), ",") {
		name, _, _ := strings.Cut(media, ";")
		is := 1 + slices.Index([]string{"*/*", "text/*", "text/plain"}, strings.TrimSpace(name))
		if is == 0 || is < exact {
			continue
		}
		accepts, exact = is == exact && accepts || !refused(media), is
	}
	return accepts
}

// refused reports whether an entry of an Accept header refuses what it names.
func refused(media string) bool {
	_, params, _ := strings.Cut(media, ";")
	return !(quality(params) > 0)
}

// accepted is the Accept header as one line.
func accepted(header http.Header) string { return strings.Join(header.Values("Accept"), ",") }

// without is the Accept header less some of its entries.
func without(header http.Header, out func(media string) bool) http.Header {
	kept := slices.DeleteFunc(strings.Split(accepted(header), ","), out)
	return http.Header{"Accept": {strings.Join(kept, ",")}}
}
