package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestFleetDuringIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.slot("new", "r0")
		began := serving()
		opts := f.options()
		opts.Pools = func() map[string]web.PoolConfig {
			return map[string]web.PoolConfig{
				"llama-70b-prod": {
					Objectives: []web.Objective{
						{Name: "ttft", Goal: 0.9, Within: 2},
						{Name: "availability", Goal: 0.995},
					},
					ReplicaHour: &web.Cost{Amount: 12.5, Currency: "EUR"},
				},
				"qwen": {Objectives: []web.Objective{{Name: "ttft", Goal: 0.95, Within: 0.5}}},
				"new":  {Objectives: []web.Objective{{Name: "e2e", Goal: 0.9, Within: 60}}},
			}
		}
		h := followed(t, opts, 31*time.Second, func(second int) {
			now := func(s target.Status) target.Status {
				s.StateSince = began.StateSince
				return s
			}
			n := busy(1000 + float64(second%10)*20)
			// Counts from before the history do not matter.
			n.requests, n.slow, n.slowAtMost = 5000+float64(second)*10, 400+float64(second/2), 400+float64(second)
			f.publish("llama-70b-prod", "r2", now(serving()), n)
			f.publish("llama-70b-prod", "r1", now(failing()), &numbers{
				tokens:     350,
				waiting:    16,
				running:    32,
				limit:      32,
				cache:      1,
				firstToken: 0.02,
				duration:   12,
				failed:     0.785,
				requests:   float64(second),
				failures:   float64(second) * 0.785,
			})
			f.publish("qwen", "r0", now(serving()), busy(3000))
			canary := serving()
			if second >= 20 {
				canary = canaryFailing()
			}
			f.publish("qwen", "r1", now(canary), nil)
			f.publish("qwen", "r2", now(unreachable("10.0.0.1:8002")), nil)
			switch second {
			case 0:
				f.publish("llama-70b-prod", "r10", now(serving()), n)
			case 10:
				f.publish("llama-70b-prod", "r10", unreachable("10.0.0.1:8002"), nil)
			case 18:
				s := mismatching()
				s.StateSince = s.LastScrape
				f.publish("llama-70b-prod", "r10", s, n)
			}
		})

		w := get(h, "/")

		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		fixture.RequireFile(t, "testdata/fleet.html", w.Body.String())
		fixture.RequireFile(t, "testdata/replica.html", get(h, "/replica?target=llama-70b-prod/r10").Body.String())
	})
}

func TestSummaryIsOneSentence(t *testing.T) {
	for _, c := range []struct {
		want     string
		tone     string
		replicas []target.Status
	}{
		{"There are no replicas.", "unknown", nil},
		{"The only replica serves.", "ok", []target.Status{serving()}},
		{"The only replica is stalled.", "broken", []target.Status{stalled()}},
		{"The only replica differs.", "look", []target.Status{mismatching()}},
		{"All 3 replicas serve.", "ok", []target.Status{serving(), serving(), serving()}},
		{
			"2 of 3 replicas serve: 1 is failing, 1 differs.", "broken",
			[]target.Status{mismatching(), serving(), failing()},
		},
		{
			"0 of 3 replicas serve: 1 is stalled, 1 fails canary requests, 1 was not tried yet.",
			"broken",
			[]target.Status{{}, canaryFailing(), stalled()},
		},
		{
			"0 of 5 replicas serve: 1 is failing, 1 is stalled, 3 are starting.",
			"broken",
			[]target.Status{stalled(), failing(), loading(), loading(), loading()},
		},
		{"3 of 3 replicas serve: 2 differ.", "look", []target.Status{mismatching(), serving(), mismatching()}},
		{"1 of 2 replicas serve: 1 was not tried yet.", "unknown", []target.Status{{}, serving()}},
		{"2 of 2 replicas serve: 1 is blind.", "look", []target.Status{serving(), blind(true)}},
		{"1 of 2 replicas serve: 1 is blind.", "look", []target.Status{serving(), blind(false)}},
		{"0 of 2 replicas are known to serve: 2 are blind.", "look", []target.Status{withholding(), withholding()}},
		{"1 of 2 replicas are known to serve: 1 is blind.", "look", []target.Status{withholding(), serving()}},
		{"The only replica is blind.", "look", []target.Status{withholding()}},
	} {
		for _, path := range []string{"/", "/targets"} {
			page := pageOf(t, path, c.replicas...)
			require.Contains(t, page, `class="tone `+c.tone+`"`, "%s of %s", path, c.want)
			require.Contains(t, plainText(page), c.want, path)
		}
	}
}

func TestProblemsComeFirst(t *testing.T) {
	for _, c := range []struct {
		name, word, runbook, reason string
		status                      target.Status
		serves                      bool
	}{
		{
			"a failing replica", "failing", "llmreplicabroken", "Requests only fail, whatever the API says.",
			failing(), false,
		},
		{
			"a stalled replica", "stalled", "llmreplicabroken", "Requests are in flight and no iteration happens.",
			stalled(), false,
		},
		{
			"a replica whose canary fails", "canary failing", "llmcanaryfailing",
			"The canary request failed (never_ended)", canaryFailing(), false,
		},
		{
			"an unexpected version", "differs", "llmexpectationmismatch",
			"It is not what its pool expects: trtllm_version (it is 1.2.0, expected is 1.1.0).", mismatching(), true,
		},
		{"a down replica", "down", "llmreplicadown", "connection refused.", unreachable("10.0.0.1:8002"), false},
		{
			"a blind exporter", "blind", "llmreplicaunreadable", "The page does not answer.",
			verdict("blind", "look", "LLMReplicaUnreadable", "the page does not answer"),
			true,
		},
		{"a loading replica", "starting", "llmreplicanotup", "It loads its engine.", loading(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := pageOf(t, "/", serving(), c.status)

			problems := part(t, page, `<div id="problems">`, "</div>")
			require.Equal(t, 1, strings.Count(problems, "<li>"))
			require.Contains(t, problems, `>`+c.word+`</span>`)
			require.Contains(t, problems, `<a href="replica?target=a%2F1">a / 1</a>`)
			require.Contains(t, problems, c.reason)
			require.Contains(t, problems, `href="https://example.org/runbook.md#`+c.runbook+`"`)
			require.Equal(
				t,
				c.status.State != "ready",
				strings.Contains(problems, "for 3 min"),
				"one that is ready has the problem since later",
			)
			serve := map[bool]string{true: "2 of 2 serving: 1 ", false: "1 of 2 serving: 1 "}[c.serves]
			require.Contains(t, page, serve)
			require.Equal(t, 1, strings.Count(page, `"pill ok"`), "only the good one is green")
			require.Equal(t, []string{"1", "0"}, names(page), "the worst comes first")
		})
	}
}

func TestUnknownNumbersAreNeitherZeroNorGreen(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", target.Status{}, nil)
	page := get(handler(t, f.options()), "/").Body.String()

	require.NotContains(t, page, `"pill ok"`)
	require.Contains(t, page, "<small>0 of 1 serving: 1 was not tried yet</small>")
	row := part(t, page, "<tbody>", "</tbody>")
	require.Equal(t, 8, strings.Count(row, "–"), "seven numbers and the version")
	require.NotContains(t, row, ">0")

	f.publish("a", "r1", serving(), busy(10))
	require.Contains(
		t,
		get(handler(t, f.options()), "/").Body.String(),
		"≥ 10 tokens/s",
		"a sum without all its parts is at least that",
	)

	f.publish("a", "r1", serving(), busy(0))
	page = get(handler(t, f.options()), "/").Body.String()
	require.NotContains(t, page, "tokens/s ·", "at least nothing is not worth a number")
	require.NotContains(t, page, "0 tokens/s", "at least nothing is not worth a number")
	require.NotContains(t, page, "<td><small>", "a single kind of server is not named")
}

func TestEqualProblemsAreListedOnce(t *testing.T) {
	f := newFleet(t)
	for i := range 30 {
		slot, err := f.store.Add(&target.Target{
			PoolID:     "a",
			ReplicaID:  "r" + strconv.Itoa(i),
			Engine:     "auto",
			MetricsURL: fmt.Sprintf("http://gpu-%d.example:8002/metrics", i),
		})
		require.NoError(t, err)
		slot.Publish(snapshot.Snapshot{Status: unreachable(fmt.Sprintf("gpu-%d.example:8002", i))})
	}
	f.publish("a", "s", failing(), nil)

	problems := part(t, get(handler(t, f.options()), "/").Body.String(), `<div id="problems">`, "</div>")

	require.Equal(t, 2, strings.Count(problems, "<li>"))
	require.Contains(t, plainText(problems), "a / r0, a / r1 and 28 more")
	require.Contains(t, problems, `<a href="?state=down">and 28 more</a>`)
}

func TestFurtherProblemsAreLinked(t *testing.T) {
	for _, c := range []struct {
		broken, look int
		want         string
	}{
		{10, 2, ""},
		{14, 1, `<a href="?state=broken">and 3 more with other reasons</a>`},
		{12, 2, `<a href="?state=look">and 2 more with other reasons</a>`},
	} {
		var replicas []target.Status
		for i := range c.broken + c.look {
			s := verdict("failing", "broken", "LLMReplicaBroken", strings.Repeat("x", i+1))
			if i >= c.broken {
				s.State, s.Severity = "blind", "look"
			}
			replicas = append(replicas, s)
		}
		problems := part(t, pageOf(t, "/", replicas...), `<div id="problems">`, "</div>")
		require.Contains(t, problems, c.want)
		require.Equal(t, c.want != "", strings.Contains(problems, "with other reasons"))
	}
}

func TestVersionsThatDifferAreMarked(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     int
	}{
		{"all equal", []string{"triton 1", "triton 1", "triton 1"}, 0},
		{"one of three", []string{"triton 1", "triton 2", "triton 1"}, 1},
		{"none has a majority", []string{"triton 1", "triton 2"}, 2},
		{"an unknown one differs from nothing", []string{"triton 1", "triton unknown", "triton 1"}, 0},
		{
			"the odd one of three vLLM, and of single servers none",
			[]string{"triton 1", "vllm 2", "sglang 3", "vllm 2", "vllm 0.9"},
			1,
		},
	} {
		var replicas []target.Status
		for _, v := range c.versions {
			s := serving()
			s.DetectedEngine, s.EngineVersion, _ = strings.Cut(v, " ")
			s.TRTLLMVersion = s.EngineVersion
			replicas = append(replicas, s)
		}
		page := pageOf(t, "/", replicas...)
		require.Equal(t, c.want, strings.Count(page, ">differs<"), c.name)
		if strings.Contains(page, "vllm") {
			require.Contains(
				t,
				page,
				"<small>vllm</small> 0.9",
				"the kind of server, which the version alone does not tell",
			)
			require.Equal(t, 5, strings.Count(page, "<td><small>"))
		}
	}
}

func TestReplicasAreSortedByNumbersInNames(t *testing.T) {
	f := newFleet(t)
	for _, name := range []string{"r10", "r2", "r1", "r02", "a-3-1", "a-3-10", "a-3-9", "r"} {
		f.publish("a", name, serving(), nil)
	}
	require.Equal(t, []string{
		"a-3-1", "a-3-9", "a-3-10", "r", "r1", "r02", "r2", "r10",
	}, names(get(handler(t, f.options()), "/").Body.String()))
}

func TestFilterSelectsReplicas(t *testing.T) {
	f := newFleet(t)
	f.publish("llama", "r0", serving(), nil)
	f.publish("llama", "r1", failing(), nil)
	f.publish("llama", "r2", canaryFailing(), nil)
	f.publish("qwen", "r3", mismatching(), nil)
	f.slot("qwen", "r4")
	h := handler(t, f.options())
	for query, want := range map[string][]string{
		"pool=llama":                    {"r1", "r2", "r0"},
		"state=failing":                 {"r1"},
		"state=broken":                  {"r1", "r2"},
		"state=look":                    {"r3"},
		"state=ok":                      {"r0"},
		"state=unknown":                 {"r4"},
		"q=WHATEVER":                    {"r1"},
		"q=zone%3Deu":                   {"r1", "r2", "r0", "r3", "r4"},
		"q=trtllm_version%3D1.2.0":      {"r3"},
		"q=engine%3Dtriton&pool=qwen":   {"r3"},
		"q=pool_id%3Dqwen":              {"r3", "r4"},
		"q=1.2.0":                       {"r3"},
		"pool=llama&state=broken&q=r2":  {"r2"},
		"q=nothing":                     nil,
		"from=-3&state=ok":              {"r0"},
		"from=a&state=ok":               {"r0"},
		"from=9223372036854775807&q=r":  nil,
		"q=%3Cscript%3E&state=%22%3E%3": nil,
	} {
		w := get(h, "/?"+query)
		require.Equal(t, http.StatusOK, w.Code, query)
		page := w.Body.String()
		require.Equal(t, want, names(page), query)
		require.Contains(t, plainText(page), "2 of 5 replicas serve: ", "the verdict is on the whole fleet")
		require.NotContains(t, page, "<script>")
	}
}

func TestOldDataIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.publish("a", "r0", serving(), nil)
		h := handler(t, f.options())
		require.Contains(t, get(h, "/").Body.String(), `<p id="age">Data 0 s old</p>`)

		time.Sleep(19 * time.Second)
		require.Contains(t, get(h, "/").Body.String(), `<p id="age">Data 19 s old</p>`)

		time.Sleep(time.Second)
		require.Contains(
			t,
			get(h, "/").Body.String(),
			`<p id="age" class="late">Data 20 s old: 1 replica was not scraped in time</p>`,
		)
	})
}

func TestPagesLoadNothingFromOtherHosts(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", failing(), busy(1))
	h := handler(t, f.options())
	for _, path := range []string{"/", "/replica?target=a/r0"} {
		w := get(h, path)
		require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		page := w.Body.String()
		require.NotContains(t, page, "style=", "the policy refuses it")
		require.NotContains(t, page, " onclick")
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			u, err := url.Parse(m[1])
			require.NoError(t, err)
			require.False(t, u.IsAbs() && u.Host != "example.org" && u.Scheme != "data", "%s of %s", m[1], path)
			require.False(t, strings.HasPrefix(m[1], "/"), "%s of %s breaks behind a proxy with a prefix", m[1], path)
		}
	}
	for path, kind := range map[string]string{
		"/live.js":   "text/javascript; charset=utf-8",
		"/style.css": "text/css; charset=utf-8",
	} {
		require.Equal(t, kind, get(h, path).Header().Get("Content-Type"))
	}
}

func TestRouterPoolSumsOneTier(t *testing.T) {
	behind := serving()
	behind.Worker = true
	with := func(n float64) *numbers {
		return &numbers{waiting: n, tokens: 10 * n, requests: 100 * n, slow: n, slowAtMost: n}
	}
	for _, c := range []struct {
		router *numbers
		want   float64
	}{{with(8), 8}, {nil, 9}} { // A router without numbers shows those of its workers.
		f := newFleet(t)
		f.publish("llama", "router", serving(), c.router)
		f.publish("llama", "w0", behind, with(5))
		f.publish("llama", "w1", behind, with(4))
		var page web.Fleet
		require.NoError(t, json.Unmarshal(get(handler(t, f.options()), "/?format=json").Body.Bytes(), &page))
		require.Equal(t, c.want, *page.Pools[0].Waiting)
		require.Equal(t, 10*c.want, *page.Pools[0].Tokens)
	}
}

func TestPageOfThousandReplicasIsSmall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pools int
		of    func(i int) target.Status
		paths []string
	}{
		{
			"of few pools", 4, mixed,
			[]string{"/", "/?pool=pool-with-a-usual-name-1", "/?state=ok", "/?state=ok&from=150", "/?q=llama"},
		},
		{"with a pool for each", 1000, mixed, []string{"/", "/?state=broken"}},
		{"no replica serves, each for another reason", 4, func(i int) target.Status {
			return verdict("down", "broken", "LLMReplicaDown", fmt.Sprint("reason ", i, strings.Repeat(" and so on", 200)))
		}, []string{"/", "/?state=down"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := crowd(t, c.pools, c.of)
				// Ten minutes of samples without a new snapshot.
				h := followed(t, f.options(), 10*time.Minute, func(int) {})
				for _, path := range c.paths {
					page := get(h, path).Body
					require.Less(t, page.Len(), 500_000, path)
					require.LessOrEqual(t, strings.Count(page.String(), "<li>"), 20, path)
				}
			})
		})
	}
}

func TestHealthyReplicasOfLargeFleetAreCollapsed(t *testing.T) {
	f := crowd(t, 4, mixed)
	h := handler(t, f.options())

	page := get(h, "/").Body.String()
	require.LessOrEqual(t, len(names(page)), 60)
	require.Contains(t, plainText(page), "920 of 1 000 replicas serve: 20 are down, 20 are failing, 20 fail canary "+
		"requests, 20 differ, 20 were not tried yet.")
	require.Regexp(t, `href="\?pool=pool-with-a-usual-name-\d">2\d\d more replicas`, page)

	page = get(handler(t, crowd(t, 100, mixed).options()), "/").Body.String()
	require.NotContains(t, page, `"pill ok"`, "with many pools only problems have rows")
	require.Equal(
		t,
		101,
		strings.Count(page, "<h2>")+strings.Count(
			part(t, page, `<table class="pools">`, "</table>"),
			`<th scope="row">`,
		),
	)

	var all []string
	next := "/?pool=pool-with-a-usual-name-2"
	for next != "" {
		page := get(h, next).Body.String()
		all = append(all, names(page)...)
		next = ""
		if m := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`).FindStringSubmatch(page); m != nil {
			next = "/" + strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	require.Len(t, all, 250, "the pool's own pages have all of them")
	seen := map[string]bool{}
	for _, name := range all {
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
