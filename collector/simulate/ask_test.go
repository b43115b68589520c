package simulate_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// listening opens a replica's ports for the length of a test.
func listening(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	r := newReplica(t, spec)
	require.NoError(t, r.Listen(t.Context()))
	t.Cleanup(r.Close)
	return r
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func ask(t *testing.T, method, url, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := client(t).Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), err}
}

func get(t *testing.T, url string) reply {
	t.Helper()
	return ask(t, http.MethodGet, url, "")
}

// parsePage reads a page as Prometheus does and returns its samples by the text
// of their series, and the families in the order of their TYPE lines.
func parsePage(t *testing.T, body []byte) (samples map[string]float64, families []string) {
	t.Helper()
	samples = map[string]float64{}
	if len(body) == 0 {
		return samples, nil
	}
	p, err := textparse.New(body, "text/plain; charset=utf-8", labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return samples, families
		}
		require.NoError(t, err)
		switch entry {
		case textparse.EntryType:
			name, _ := p.Type()
			families = append(families, string(name))
		case textparse.EntrySeries:
			series, _, value := p.Series()
			_, twice := samples[string(series)]
			require.False(t, twice, "series %s is on the page twice", series)
			samples[string(series)] = value
		default:
		}
	}
}
