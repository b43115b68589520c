package top

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// incident returns a fleet with every kind of problem, as an exporter returns it.
func incident() *web.Fleet {
	fleet := &web.Fleet{
		Summary: web.Summary{
			Severity: "broken",
			Sentence: "8 of 12 replicas serve: 1 is failing, 1 fails canary requests, 1 differs, 1 is starting, 1 " +
				"was not tried yet.",
			Load: "1 replica is full, 16 requests wait.",
			Age:  "Data 1 s old",
		},
		Pools: []web.Pool{
			{
				PoolID:   "llama-70b-prod",
				Severity: "broken",
				Tally: "7 of 11 serving: 1 is failing, 1 fails canary requests, 1 differs, 1 is starting, 1 was " +
					"not tried yet",
				Tokens:  new(2508.4),
				Waiting: new(32.0),
				Partly:  true,
			},
			{PoolID: "qwen-7b-chat", Severity: "ok", Tally: "1 of 1 serving", Tokens: new(3469.0), Waiting: new(0.0)},
		},
	}
	add := func(r web.Replica) { fleet.Replicas = append(fleet.Replicas, r) }
	llama := func(name, severity, word, reason string) web.Replica {
		return web.Replica{
			PoolID:    "llama-70b-prod",
			ReplicaID: name,
			Severity:  severity,
			State:     word,
			Word:      word,
			Reason:    reason,
			Version:   "2.64.0",
			TRTLLM:    "1.1.0",
		}
	}
	failing := llama("llama-70b-0", "broken", "failing", "Requests only fail, whatever the API says.")
	failing.Runbook = "https://example.org/runbook.md#llmreplicabroken"
	failing.Tokens, failing.Waiting, failing.Running, failing.Limit = new(0.0), new(16.0), new(0.0), new(48.0)
	failing.Cache, failing.Failed, failing.For, failing.Saturated = new(0.29), new(1.0), "3 min", new(1.0)
	add(failing)
	canary := llama("llama-70b-1", "broken", "canary failing", "The API answers 200; the canary request failed "+
		"(timeout): still streaming after 10s.")
	canary.State = "ready"
	add(canary)
	odd := llama("llama-70b-2", "look", "differs", "It is not what its pool expects: trtllm_version (it is 1.2.0, "+
		"expected is 1.1.0).")
	odd.State, odd.TRTLLM, odd.Differs = "ready", "1.2.0", true
	odd.Tokens, odd.FirstToken, odd.Duration, odd.Failed = new(4.25), new(0.0712), new(44.9), new(0.0004)
	add(odd)
	add(llama("llama-70b-\x1b[2J\u202e3", "look", "starting", "It says \x1b]0;you\x07 that it loads."))
	unknown := llama("llama-70b-4", "unknown", "not tried yet", "")
	unknown.Version, unknown.TRTLLM = "", ""
	add(unknown)
	for i := range 6 {
		r := llama(fmt.Sprintf("llama-70b-%d", 9+i), "ok", "ready", "The API answers 200.")
		r.Tokens, r.Waiting, r.Running, r.Limit, r.Cache = new(float64(100*i)), new(
			0.0,
		), new(19.0), new(
			48.0,
		), new(0.0349)
		r.FirstToken, r.Duration, r.Failed = new(3.17), new(9.94), new(0.0)
		add(r)
	}
	qwen := web.Replica{
		PoolID:    "qwen-7b-chat",
		ReplicaID: "qwen-7b-0",
		Severity:  "ok",
		State:     "ready",
		Word:      "ready",
		Reason:    "The API answers 200.",
		Version:   "1.3.0rc14",
	}
	qwen.Tokens = new(3469.0)
	add(qwen)
	return fleet
}

func TestOncePrintsTheFleet(t *testing.T) {
	for _, c := range []struct {
		name   string
		fleet  *web.Fleet
		choice Choice
		width  int
	}{
		{"incident", incident(), Choice{}, 0},
		{"incident-80", incident(), Choice{}, 80},
		{"wrong-40", incident(), Choice{Wrong: true}, 40},
		{"by-tokens-100", incident(), Choice{Order: "tokens"}, 100},
		{"by-name", incident(), Choice{Order: "name", Text: "LLAMA-70b-1"}, 0},
		{"empty", &web.Fleet{
			Summary:  web.Summary{Severity: "unknown", Sentence: "There are no replicas."},
			Searches: []string{"Pool a has no targets: relabeling dropped all 4 of them."},
		}, Choice{}, 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := Once(c.fleet, c.choice, c.width)
			fixture.RequireFile(t, "testdata/once/"+c.name+".txt", text)
			require.NotContains(t, text, "\x1b", "what a server says does nothing to the terminal")
			for line := range strings.Lines(text) {
				if c.width > 0 && !strings.Contains(line, "https://") {
					require.LessOrEqual(t, ansi.StringWidth(line), c.width, line)
				}
			}
		})
	}
}

// seated returns a screen with data.
func seated(width, height int) *model {
	m := newModel(Options{Client: &Client{URL: "http://127.0.0.1:9802"}, Interval: time.Hour})
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(fleetAnswer{fleet: incident()})
	return m
}

// keys presses keys, by name or as letters.
func keys(m *model, names ...string) {
	special := map[string]rune{
		"enter":     tea.KeyEnter,
		"esc":       tea.KeyEscape,
		"up":        tea.KeyUp,
		"down":      tea.KeyDown,
		"home":      tea.KeyHome,
		"end":       tea.KeyEnd,
		"pgdown":    tea.KeyPgDown,
		"pgup":      tea.KeyPgUp,
		"backspace": tea.KeyBackspace,
	}
	for _, name := range names {
		if code := special[name]; code != 0 {
			m.Update(tea.KeyPressMsg{Code: code})
			continue
		}
		letter, _ := utf8.DecodeRuneInString(name)
		m.Update(tea.KeyPressMsg{Code: letter, Text: name})
	}
}

func shown(m *model) string { return ansi.Strip(m.View().Content) }

func TestScreenFitsTheTerminal(t *testing.T) {
	for _, width := range []int{1, 20, 39, 40, 60, 80, 110, 250} {
		for _, height := range []int{1, 3, 8, 24, 60} {
			for _, pressed := range [][]string{nil, {"s"}, {"e"}, {"/", "x"}, {"end"}, {"enter"}, {"?"}} {
				m := seated(width, height)
				keys(m, pressed...)
				m.Update(detailAnswer{
					key:    m.selected,
					detail: &web.Detail{Replica: incident().Replicas[0], Scraped: strings.Repeat("long ", 50)},
				})
				lines := strings.Split(shown(m), "\n")
				for _, l := range lines {
					require.LessOrEqual(t, ansi.StringWidth(l), width)
				}
				require.LessOrEqual(
					t,
					len(lines),
					max(height, 2),
					"%dx%d after %v:\n%s",
					width,
					height,
					pressed,
					shown(m),
				)
			}
		}
	}
}

func TestCursorIsVisible(t *testing.T) {
	m := seated(80, 16)
	for range 12 {
		require.Contains(
			t,
			shown(m),
			"\n"+Fit(Plain(m.rows[m.cursor()].Word), stateWidth, false)+" "+Plain(m.rows[m.cursor()].ReplicaID)+" ",
		)
		keys(m, "down")
	}
	require.Equal(t, "qwen-7b-chat/qwen-7b-0", m.selected)
	keys(m, "home")
	require.Equal(t, "llama-70b-prod/llama-70b-0", m.selected)
}

func TestEndOfGrowingDetailsStaysVisible(t *testing.T) {
	m := seated(80, 12)
	keys(m, "enter", "end")
	for n := range 3 {
		m.Update(detailAnswer{
			key: m.selected,
			detail: &web.Detail{
				Replica:  incident().Replicas[0],
				Steps:    strings.Fields(strings.Repeat("look ", 9*n)),
				Commands: []web.Command{{Line: "last"}},
			},
		})
		require.Contains(t, shown(m), "last")
	}
}

func TestCommandsOfDetailsAreWhole(t *testing.T) {
	const address = "'http://exporter.example.com:9802/metrics?target=llama-70b-prod/llama-70b-2&name[]=llm_server_state'"
	m := seated(60, 40)
	keys(m, "enter")
	m.Update(detailAnswer{
		key:    m.selected,
		detail: &web.Detail{Replica: incident().Replicas[0], Steps: []string{"failing: curl -s " + address}},
	})
	require.Contains(t, strings.Join(strings.Fields(shown(m)), ""), address, shown(m))
}

func TestCursorFollowsItsReplica(t *testing.T) {
	m := seated(80, 24)
	keys(m, "down", "down")
	require.Equal(t, "llama-70b-prod/llama-70b-2", m.selected)
	keys(m, "s", "s", "s")
	require.Equal(t, "llama-70b-prod/llama-70b-2", m.selected)
	fleet := incident()
	fleet.Replicas = append(fleet.Replicas[:2:2], fleet.Replicas[3:]...)
	m.Update(fleetAnswer{fleet: fleet})
	require.NotEmpty(t, m.selected, "after it was removed, the cursor is near its position")
	unmoved := seated(80, 24)
	fleet.Replicas = fleet.Replicas[1:]
	unmoved.Update(fleetAnswer{fleet: fleet})
	require.Equal(t, "llama-70b-prod/llama-70b-1", unmoved.selected, "an unmoved cursor is at the worst replica")
}

func TestUnknownValuesSortLast(t *testing.T) {
	for _, order := range Orders()[2:] {
		choice := Choice{Order: order}
		rows := choice.apply(incident())
		require.Len(t, rows, 12)
		var column column
		for _, c := range columns() {
			if c.name == order {
				column = c
			}
		}
		unknown := false
		for i := range rows {
			nothing := column.text(&rows[i]) == web.NoValue
			require.False(t, unknown && !nothing, "%s: a number behind one that is not known", order)
			unknown = nothing
		}
	}
}

func TestKeysChangeTheScreen(t *testing.T) {
	m := seated(80, 24)
	before := shown(m)
	for _, key := range []string{"s", "e", "/", "enter", "?"} {
		m := seated(80, 24)
		keys(m, key)
		require.NotEqual(t, before, shown(m), key)
	}
	for _, where := range [][]string{nil, {"enter"}} {
		m := seated(80, 24)
		keys(m, where...)
		_, quit := m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
		require.NotNil(t, quit)
		require.Equal(t, tea.Quit(), quit())
	}
	keys(m, "?", "q")
	require.Equal(t, before, shown(m), "any key closes the help")
	keys(m, "/", "q", "w", "backspace")
	require.Equal(t, "q", m.choice.Text, "letters are text while one types")
	keys(m, "esc")
	require.Empty(t, m.choice.Text)
}

func TestClientRejectsOtherServers(t *testing.T) {
	for body, want := range map[string]string{
		"<html>":                   "is not a trtllm_exporter: it does not answer in JSON",
		"{}":                       "is not a trtllm_exporter, or one without",
		`{"verdict":{"sentence":1`: "is not a trtllm_exporter: it does not answer in JSON",
	} {
		server := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }),
		)
		_, _, err := (&Client{HTTP: server.Client(), URL: server.URL}).Fleet(t.Context())
		require.ErrorContains(t, err, want)
		server.Close()
	}
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "No replica is named\nmore", http.StatusNotFound)
	}))
	defer refused.Close()
	_, err := (&Client{HTTP: refused.Client(), URL: refused.URL}).Detail(t.Context(), "a/b")
	require.EqualError(t, err, refused.URL+" answers 404 Not Found: No replica is named")
}

func TestFleetRoundTrips(t *testing.T) {
	text, err := json.Marshal(incident())
	require.NoError(t, err)
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }),
	)
	defer server.Close()
	fleet, raw, err := (&Client{HTTP: server.Client(), URL: server.URL}).Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, text, raw)
	require.Equal(t, incident(), fleet)
}
