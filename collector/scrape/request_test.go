package scrape_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page of one server: as text, and as prometheus_client 0.26 writes it in
// OpenMetrics, where the names of TYPE and samples differ.
const (
	textPage        = "# TYPE sglang:num_requests_total counter\nsglang:num_requests_total 1.0\n"
	openMetricsPage = "# TYPE sglang:num_requests counter\nsglang_num_requests_total 1.0\n# EOF\n"
	openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
)

// negotiator answers according to the Accept header.
type negotiator func(accept string) (contentType, body string)

func (n negotiator) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	contentType, body := n(req.Header.Get("Accept"))
	if contentType == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write([]byte(body))
}

func TestNamesComeAsTheServersTextPageHasThem(t *testing.T) {
	const text = "text/plain; version=0.0.4; charset=utf-8"
	for _, c := range []struct {
		name string
		n    negotiator
		want string
	}{
		{"a server that takes no notice of q", func(accept string) (string, string) {
			if strings.Contains(accept, "openmetrics") {
				return openMetricsType, openMetricsPage
			}
			return text, textPage
		}, textPage},
		{"a server that knows escaping of names", func(accept string) (string, string) {
			if !strings.Contains(accept, "escaping=allow-utf-8") {
				return text, "sglang_num_requests_total 1\n"
			}
			return text + "; escaping=allow-utf-8", textPage
		}, textPage},
		{"a server that refuses what is not asked for, and has OpenMetrics only", func(accept string) (string, string) {
			if !strings.Contains(accept, "openmetrics") && !strings.Contains(accept, "*/*") {
				return "", ""
			}
			return openMetricsType, openMetricsPage
		}, openMetricsPage},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.n)
			t.Cleanup(server.Close)
			page, err := newClient(t).Scrape(t.Context(), server.URL+"/metrics", nil)
			require.NoError(t, err)
			require.Equal(t, c.want, string(page.Body))
		})
	}
}
