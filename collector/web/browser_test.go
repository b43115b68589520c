package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// opened is a page that a browser opens, with its expected content. tools/browser reads it.
type opened struct {
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Contains []string `json:"contains,omitempty"`
	First    []string `json:"first,omitempty"`
	Becomes  string   `json:"becomes,omitempty"`
	Poke     string   `json:"poke,omitempty"`
	Bytes    int      `json:"bytes,omitempty"`
	Large    bool     `json:"large,omitempty"`
	Walk     bool     `json:"walk,omitempty"`
}

// TestPagesInBrowser opens the pages of fleets of all sizes in Chromium: at two
// widths, in both themes, with and without JavaScript. `make e2e-browser` runs it.
func TestPagesInBrowser(t *testing.T) {
	if os.Getenv("BROWSER_TESTS") == "" {
		t.Skip("BROWSER_TESTS is not set; make e2e-browser sets it")
	}
	pages := append(sizesOfFleets(t), problemFleets(t)...)
	pages = append(pages, hostileFleet(t)...)
	pages = append(pages, changingFleet(t)...)
	text, err := json.Marshal(pages)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "check.mjs")
	cmd.Dir = filepath.Join("..", "..", "tools", "browser")
	cmd.Stdin = bytes.NewReader(text)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	require.NoError(t, err, log.String())
	t.Log(log.String())
	var findings []string
	require.NoError(t, json.Unmarshal(out, &findings), string(out))
	for _, f := range findings {
		t.Error(f)
	}
}

// sizesOfFleets returns fleets of 0 to 1000 replicas.
func sizesOfFleets(t *testing.T) []opened {
	t.Helper()
	var pages []opened
	for _, size := range []int{0, 1, 6, 200, 1000} {
		f := newFleet(t)
		for i := range size {
			status := serving()
			if size > 1 {
				status = mixed(i)
			}
			var n *numbers
			if status.Health == target.HealthUp {
				n = busy(float64(1000 + i))
			}
			f.publish(fmt.Sprintf("llama-70b-pool-%d", i%4), fmt.Sprintf("triton-llama-70b-6f7d9c8b5-%d", i), status, n)
		}
		base := start(t, f.options())
		reports := map[int]string{
			0: "There are no replicas.", 1: "The only replica serves.", 6: "2 of 6 replicas serve: 1 is down, 1 is " +
				"failing, 1 fails canary requests, 1 differs, 1 was not tried yet.",
			200: "184 of 200 replicas serve: ", 1000: "920 of 1 000 replicas serve: ",
		}[size]
		fleet := opened{
			Name: fmt.Sprintf("fleet-%d", size), URL: base + "/", Contains: []string{reports}, First: []string{reports},
			Bytes: 500_000, Large: size > 6, Walk: true,
		}
		pages = append(pages, fleet)
		if size == 6 || size == 200 {
			pages = append(pages, opened{
				Name:     fmt.Sprintf("targets-%d", size),
				URL:      base + "/targets",
				Contains: []string{reports},
				Large:    size > 6,
				Walk:     true,
			})
		}
		if size == 200 {
			pages = append(pages,
				opened{
					Name:     "pool",
					URL:      base + "/?pool=llama-70b-pool-1",
					Contains: []string{"triton-llama-70b-6f7d9c8b5-1"},
					Large:    true,
				},
				opened{
					Name:     "search",
					URL:      base + "/?q=8b5-19&state=ok",
					Contains: []string{"triton-llama-70b-6f7d9c8b5-19"},
					Large:    true,
				})
		}
	}
	return pages
}

// problemFleets returns fleets of three replicas, one of which has a problem: it is listed first,
// and counts as serving only if requests still complete.
func problemFleets(t *testing.T) []opened {
	t.Helper()
	var pages []opened
	for name, status := range map[string]target.Status{
		"failing":        failing(),
		"stalled":        stalled(),
		"canary failing": canaryFailing(),
		"differs":        mismatching(),
		"down":           unreachable("10.0.0.1:8002"),
	} {
		f := newFleet(t)
		f.publish("llama-70b-prod", "r1", serving(), busy(900))
		f.publish("llama-70b-prod", "r2", status, busy(100))
		f.publish("llama-70b-prod", "r3", serving(), busy(1000))
		base := start(t, f.options())
		serves := "2 of 3 serving"
		if name == "differs" {
			serves = "3 of 3 serving"
		}
		pages = append(pages,
			opened{
				Name: "trouble-" + name, URL: base + "/", First: []string{name, "llama-70b-prod / r2"},
				Contains: []string{serves},
			},
			opened{
				Name:  "replica-" + name,
				URL:   base + "/replica?target=llama-70b-prod%2Fr2",
				First: []string{"r2", name},
				Walk:  true,
			})
	}
	return pages
}

// hostileFleet has names and reasons with markup.
func hostileFleet(t *testing.T) []opened {
	t.Helper()
	const planted = `<script>window.planted=1</script><img src=x onerror="window.planted=1">"'><a href="javascript:window.planted=1">`
	f := newFleet(t)
	status := unreachable("10.0.0.1:8002")
	status.StateReason, status.LastError = planted, planted
	status.EngineVersion, status.DetectedEngine = planted, planted
	status.Models = []target.Model{{Name: planted, ModelID: planted, Role: "entry"}}
	status.Checks = []target.CheckList{{
		Name:   "capabilities",
		Checks: []target.Check{target.Failed(planted, planted, planted)},
	}}
	f.publish(planted, planted, status, busy(1))
	base := start(t, f.options())
	key := url.QueryEscape(planted + "/" + planted)
	return []opened{
		{
			Name:     "hostile-fleet",
			URL:      base + "/?q=" + url.QueryEscape("script"),
			First:    []string{planted[:20]},
			Contains: []string{planted},
		},
		{Name: "hostile-replica", URL: base + "/replica?target=" + key, Contains: []string{planted}},
		{Name: "hostile-targets", URL: base + "/targets", Contains: []string{planted}},
		{Name: "hostile-search", URL: base + "/?q=" + url.QueryEscape(planted), Contains: []string{"1 of 1 replica"}},
	}
}

// changingFleet returns a fleet in which a replica fails once the browser has reported the page.
func changingFleet(t *testing.T) []opened {
	t.Helper()
	var pages []opened
	for path, becomes := range map[string]string{
		"/":                          "The only replica is failing.",
		"/replica?target=llama%2Fr1": "Runbook →",
	} {
		f := newFleet(t)
		f.publish("llama", "r1", serving(), busy(10))
		poke := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			s := failing()
			s.StateSince = time.Now()
			f.publish("llama", "r1", s, busy(10))
		}))
		t.Cleanup(poke.Close)
		pages = append(pages, opened{
			Name:    "changing " + path,
			URL:     start(t, f.options()) + path,
			Poke:    poke.URL,
			Becomes: becomes,
		})
	}
	return pages
}
