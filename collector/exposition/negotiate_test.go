package exposition_test

import (
	"net/http"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

const (
	textPlain = "text/plain; version=0.0.4; charset=utf-8"
	protoType = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores"

	prometheus2      = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	prometheus3      = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	prometheus3Proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	browser          = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	strictOM         = "application/openmetrics-text;version=1.0.0"
)

// acceptHeaders are headers of real clients and unusual ones.
var acceptHeaders = []struct {
	name, accept string
	openMetrics  bool
	want         string
}{
	{"Prometheus 2 gets text, in which counters keep their type", prometheus2, false, textPlain},
	{"Prometheus 3 gets text too", prometheus3, false, textPlain},
	{"Prometheus 2 gets OpenMetrics if enabled", prometheus2, true, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"},
	{"Prometheus 3 gets OpenMetrics with UTF-8 names if enabled", prometheus3, true, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8"},
	{"Prometheus 3 with native histograms gets text", prometheus3Proto, false, textPlain},
	{"vmagent gets text", "text/plain;version=0.0.4;q=1,*/*;q=0.1", false, textPlain},
	{"Prometheus 1 gets text", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3", false, textPlain},
	{"a client for protobuf only gets text", protoType, false, textPlain},
	{"curl gets text", "*/*", false, textPlain},
	{"a browser gets text", browser, false, textPlain},
	{"a client without a header gets text", "", false, textPlain},
	{"a client for OpenMetrics only gets it", strictOM, false, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"},
	{"a client that refuses text gets OpenMetrics", strictOM + ",text/plain;q=0", false, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"},
	{"zero may be followed by other parameters", strictOM + ",text/plain;q=0;version=0.0.4", false, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"},
	{"text refused by name is not given by the star", strictOM + ",text/plain;q=0,*/*;q=0.1", false, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"},
	{"the star at q=0 refuses nothing that is named", "*/*;q=0,text/plain," + strictOM, false, textPlain},
	{"a client that refuses OpenMetrics gets text even if enabled", strictOM + ";q=0,*/*", true, textPlain},
	{"a client that refuses protobuf gets text", protoType + ";q=0,*/*", false, textPlain},
	{"text/* is text", strictOM + ",text/*;q=0.1", false, textPlain},
	{"old OpenMetrics alone is answered in kind", "application/openmetrics-text;version=0.0.1", false, "application/openmetrics-text; version=0.0.1; charset=utf-8; escaping=underscores"},
	{"a format of the future gets text", "application/openmetrics-text;version=9.0.0,application/x-future", false, textPlain},
	{"a client that refuses protobuf and prefers OpenMetrics gets text", strictOM + ",application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0,text/plain;q=A", false, textPlain},
	{"garbage gets text", ";;;,,,q=,/;q=x,\x00", false, textPlain},
}

func TestNegotiateByAcceptHeader(t *testing.T) {
	for _, c := range acceptHeaders {
		t.Run(c.name, func(t *testing.T) {
			got := exposition.Negotiate(http.Header{"Accept": {c.accept}}, c.openMetrics, false)
			require.Equal(t, c.want, got.ContentType)
		})
	}
}

func TestAcceptHeaderWithSeveralLines(t *testing.T) {
	header := http.Header{"Accept": {protoType + ";Q=0", strictOM + ";q=0", "*/*"}}
	require.Equal(t, textPlain, exposition.Negotiate(header, true, false).ContentType)
	header = http.Header{"Accept": {"text/plain;q=0", strictOM}}
	require.Contains(t, exposition.Negotiate(header, false, false).ContentType, "openmetrics")
}

func TestNegotiateWithUTF8Names(t *testing.T) {
	for _, c := range []struct {
		name, accept string
		escaping     string
	}{
		{"a client that accepts UTF-8 names gets them", prometheus3, "allow-utf-8"},
		{"other clients get escaped names", prometheus2, "underscores"},
		{"a client may choose how names are escaped", "text/plain;version=0.0.4;escaping=dots", "dots"},
		{"curl gets escaped names", "*/*", "underscores"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := exposition.Negotiate(http.Header{"Accept": {c.accept}}, false, true)
			require.Equal(t, textPlain+"; escaping="+c.escaping, got.ContentType)
			require.Equal(t, expfmt.TypeTextPlain, got.Expfmt.FormatType())
		})
	}
}

func TestNegotiateEncoding(t *testing.T) {
	// X06.
	for _, c := range []struct {
		name, accept string
		want         exposition.Encoding
	}{
		{"Prometheus gets gzip", "gzip", exposition.Gzip},
		{"a client without a header gets the plain page", "", exposition.Identity},
		{"curl gets the first it can have of its list", "deflate, gzip, br, zstd", exposition.Zstd},
		{"a browser gets zstd", "gzip, deflate, br, zstd", exposition.Zstd},
		{"gzip is preferred to zstd", "zstd;q=0.5, gzip;q=0.8", exposition.Gzip},
		{"gzip at q=0 is refused", "gzip;q=0", exposition.Identity},
		{"zstd at q=0 leaves gzip", "gzip, zstd;q=0", exposition.Gzip},
		{"br alone is not on offer", "br", exposition.Identity},
		{"the star stands for gzip", "*", exposition.Gzip},
		{"the star at q=0 refuses", "*;q=0", exposition.Identity},
		{"a coding refused by name is not given by the star", "gzip;q=0, *", exposition.Identity},
		{"the old name of gzip is known", "x-gzip", exposition.Gzip},
		{"names are not case sensitive", "GZIP", exposition.Gzip},
		{"spaces do not matter", " gzip ; q=0.5 , zstd ; q=0.4", exposition.Gzip},
		{"an unreadable q counts as 1", "gzip;q=x", exposition.Gzip},
		{"other parameters are passed over", "gzip;level=9;q=0", exposition.Identity},
		{"an invalid q is ignored", "gzip;q=NaN", exposition.Identity},
		{"garbage gets the plain page", ";;,=,\x00gz", exposition.Identity},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, exposition.NegotiateEncoding(c.accept))
		})
	}
}
