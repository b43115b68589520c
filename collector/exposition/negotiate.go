package exposition

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Format is the format of one answer.
type Format struct {
	// Expfmt names the format with its escaping.
	Expfmt expfmt.Format
	// ContentType is what the answer says of itself.
	ContentType string
	// Text says that it is written by [Layout.WriteText], of the layout that
	// [Layout.In] gives for Expfmt.
	Text bool
}

// textContentType is the text format's own.
const textContentType = "text/plain; version=0.0.4; charset=utf-8"

// Negotiate chooses the format of an answer by the Accept header. Text wins
// over OpenMetrics for a client that takes both, unless openMetrics is set:
// in OpenMetrics the servers' counters that do not end in "_total" (all of
// nv_inference_*) have no type, in text they keep it. Protobuf is given to
// who prefers it. A layout with names beyond the legacy character set needs a
// client that says so, else names are escaped.
func Negotiate(header http.Header, openMetrics, utf8 bool) Format {
	f := expfmt.NegotiateAccept(header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	switch f.FormatType() {
	case expfmt.TypeOpenMetrics:
		if openMetrics || !acceptsText(header) {
			return Format{Expfmt: f, ContentType: string(f), Text: true}
		}
		text := header.Clone()
		text.Set("Accept", withoutOpenMetrics(header))
		f = expfmt.NegotiateAccept(text, slices.DeleteFunc(expfmt.DefaultAcceptedFormats(), notText)...)
	case expfmt.TypeProtoDelim, expfmt.TypeProtoText, expfmt.TypeProtoCompact:
		return Format{Expfmt: f, ContentType: string(f)}
	default:
	}
	if utf8 {
		return Format{Expfmt: f, ContentType: string(f), Text: true}
	}
	return Format{Expfmt: f, ContentType: textContentType, Text: true}
}

// notText says whether a format is another one than text.
func notText(f expfmt.Format) bool { return f.FormatType() != expfmt.TypeTextPlain }

// acceptsText says whether the client would take the text format.
func acceptsText(header http.Header) bool {
	for media := range strings.SplitSeq(header.Get("Accept"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(media), ";")
		if q := strings.ReplaceAll(params, " ", ""); strings.HasSuffix(q, "q=0") || strings.HasSuffix(q, "q=0.0") {
			continue
		}
		switch strings.TrimSpace(name) {
		case "text/plain", "text/*", "*/*":
			return true
		}
	}
	return false
}

// withoutOpenMetrics is the Accept header less its OpenMetrics entries.
func withoutOpenMetrics(header http.Header) string {
	var kept []string
	for media := range strings.SplitSeq(header.Get("Accept"), ",") {
		if !strings.Contains(media, "openmetrics") {
			kept = append(kept, strings.TrimSpace(media))
		}
	}
	return strings.Join(kept, ",")
}
