package exposition_test

import (
	"net/http"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

const (
	protobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	prometheus2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75," +
		"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	prometheus3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
		"application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4," +
		"text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)

// acceptHeaders are headers of real clients and unusual ones.
var acceptHeaders = []struct {
	name, accept string
	want         model.EscapingScheme
}{
	{"Prometheus 3 gets UTF-8 names", prometheus3, model.NoEscaping},
	{"Prometheus 2 gets escaped names", prometheus2, model.UnderscoreEscaping},
	{
		"Prometheus 3 with native histograms",
		protobuf + ";escaping=allow-utf-8;q=0.6,text/plain;q=0.3",
		model.NoEscaping,
	},
	{"Prometheus 1", protobuf + ";q=0.7,text/plain;version=0.0.4;q=0.3", model.UnderscoreEscaping},
	{"vmagent", "text/plain;version=0.0.4;q=1,*/*;q=0.1", model.UnderscoreEscaping},
	{"curl", "*/*", model.UnderscoreEscaping},
	{
		"a browser",
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
		model.UnderscoreEscaping,
	},
	{"a client without a header", "", model.UnderscoreEscaping},
	{"a client may choose", "text/plain;version=0.0.4;escaping=dots", model.DotsEscaping},
	{"values", "text/plain;escaping=values", model.ValueEncodingEscaping},
	{"what it refuses does not count", "text/plain;escaping=values;q=0,text/plain;escaping=dots", model.DotsEscaping},
	{
		"what it says about OpenMetrics does not count either",
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;version=0.0.4",
		model.UnderscoreEscaping,
	},
	{"an escaping of the future is ignored", "text/plain;escaping=runes", model.UnderscoreEscaping},
	{"garbage", ";;;,,,q=,/;q=x,\x00", model.UnderscoreEscaping},
}

func TestNegotiateEscaping(t *testing.T) {
	for _, c := range acceptHeaders {
		t.Run(c.name, func(t *testing.T) {
			got := exposition.NegotiateEscaping(http.Header{"Accept": {c.accept}})
			require.Equal(t, c.want.String(), got.String())
		})
	}
}

func TestAcceptHeaderWithSeveralLines(t *testing.T) {
	header := http.Header{"Accept": {"text/plain;escaping=dots;Q=0", "text/plain;escaping=values", "*/*"}}
	require.Equal(t, model.ValueEncodingEscaping, exposition.NegotiateEscaping(header))
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
