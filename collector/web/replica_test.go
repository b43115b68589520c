package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// TestRunningShowsWhatWaits has numbers that must not look like free slots while requests wait.
func TestRunningShowsWhatWaits(t *testing.T) {
	full := new(1.0)
	for _, c := range []struct {
		name      string
		figures   web.Figures
		text      string
		sorted    float64
		run, wait float64
	}{
		{
			name:    "nothing waits",
			figures: web.Figures{Running: new(32.0), Waiting: new(0.0), Limit: new(48.0)},
			text:    "32 / 48", sorted: 32, run: 66.7,
		},
		{
			name:    "some wait inside",
			figures: web.Figures{Running: new(32.0), Waiting: new(12.0), Limit: new(48.0)},
			text:    "32 + 12 / 48", sorted: 44, run: 66.7, wait: 25,
		},
		{
			name:    "no more fit inside",
			figures: web.Figures{Running: new(32.0), Waiting: new(16.0), Limit: new(48.0), Saturated: full},
			text:    "48 / 48", sorted: 48, run: 66.7, wait: 33.3,
		},
		{
			name:    "all run, and others wait outside",
			figures: web.Figures{Running: new(48.0), Waiting: new(30.0), Limit: new(48.0), Saturated: full},
			text:    "48 / 48", sorted: 48, run: 100,
		},
		{
			name:    "more wait than slots are free, for another reason",
			figures: web.Figures{Running: new(30.0), Waiting: new(300.0), Limit: new(256.0)},
			text:    "30 + 300 / 256", sorted: 256, run: 11.7, wait: 88.3,
		},
		{
			name:    "nothing runs of what waits",
			figures: web.Figures{Running: new(0.0), Waiting: new(16.0), Limit: new(48.0), Saturated: full},
			text:    "0 + 16 / 48", sorted: 16, run: 0, wait: 33.3,
		},
		{
			name:    "what waits is unknown",
			figures: web.Figures{Running: new(32.0), Limit: new(48.0)},
			text:    "32 / 48", sorted: 32, run: 66.7,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := web.Replica{Figures: c.figures}
			require.Equal(t, c.text, r.RunningText())
			require.InDelta(t, c.sorted, *r.Occupied(), 0)
			require.Equal(t, &web.Bar{Running: c.run, Waiting: c.wait}, r.Load())
		})
	}
	require.Equal(t, "30", (&web.Replica{Figures: web.Figures{Running: new(30.0), Waiting: new(9.0)}}).RunningText())
	require.Equal(t, web.NoValue, (&web.Replica{}).RunningText())
	require.Nil(t, (&web.Replica{}).Load())
}

// TestAddressesThatLeadNowhereLeadOn asks as a browser and as a program.
func TestAddressesThatLeadNowhereLeadOn(t *testing.T) {
	h := handler(t, oneReplica(t).options())
	for _, c := range []struct {
		name, path string
		status     int
		title      string
		home       string
	}{
		{"no such page", "/nosuch", http.StatusNotFound, "There is no such page", `href="./"`},
		{"no such page in a folder", "/a/b/c", http.StatusNotFound, "There is no such page", `href="../../"`},
		{"no such state", "/?state=foo", http.StatusBadRequest, "there is no &#34;foo&#34;", `href="./"`},
		{"no such column", "/targets?sort=foo", http.StatusBadRequest, "there is no column", `href="./"`},
		{"no such replica", "/replica?target=a/b", http.StatusNotFound, "No replica is named a/b", `href="./?pool=a"`},
		{"not enabled", "/config", http.StatusForbidden, "--web.enable-lifecycle", `href="./"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := get(h, c.path, "Accept", "text/html")
			require.Equal(t, c.status, w.Code)
			require.Contains(t, w.Body.String(), "<title>")
			require.Contains(t, w.Body.String(), c.title)
			require.Contains(t, w.Body.String(), c.home)

			w = get(h, c.path)
			require.Equal(t, c.status, w.Code)
			require.NotContains(t, w.Body.String(), "<")
		})
	}
}
