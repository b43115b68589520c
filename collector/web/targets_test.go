package web_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// knownStatus adds everything that can be known about a server to a status, with secrets.
func knownStatus(s target.Status) target.Status {
	const secret = "http://user:hunter2@10.0.0.1:8000/v2?token=hunter2"
	s.Generation, s.GenerationReason = "metric set A", "model tensorrt_llm has backend tensorrtllm"
	s.EngineBuildVersion = "1.0.0"
	s.LeftOut = []string{"12 series of the page, all of x", secret}
	s.Models = []target.Model{{
		Name:         "tensorrt_llm",
		ModelID:      "llama",
		Role:         "part",
		State:        "ready",
		MaxBatchSize: new(8),
		Decoupled:    new(true),
	}}
	s.Checks = []target.CheckList{{Name: "capabilities", Checks: []target.Check{
		{Name: "tokens", OK: true, Reason: "nv_llm_output_token_len"},
		{Name: "ttft", Reason: "the histogram is off", Cure: "--metrics-config histogram_latencies=true"},
	}}, {
		Name: "determinism", Checks: []target.Check{{Name: "one_instance", Reason: "model <b>x</b> has 2 instances"}},
	}, {
		Name: "expectations", Checks: []target.Check{{
			Name:   "trtllm_version",
			Reason: "it is 1.1.0, expected is 1.2.0",
		}},
	}, {
		Name: "unanswered", Checks: []target.Check{{Name: "GET /v2", Reason: "no answer from " + secret}},
	}}
	s.Canary = &target.Canary{
		Model:  "ensemble",
		Result: "never_ended",
		Reason: "8 frames with text came, see " + secret,
		At:     s.LastScrape,
	}
	return s
}

// mixedFleet returns a fleet with replicas in every state.
func mixedFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	known := f.page("llama-70b-prod", "r0", tritonPage(1))
	known.Publish(snapshot.Snapshot{Status: knownStatus(known.Status())})
	f.fail(
		"llama-70b-prod",
		"r1",
		"connect",
		`Get "http://user:hunter2@10.0.0.1:8002/metrics?token=hunter2": dial tcp 10.0.0.1:8002: connect: connection refused`,
	)
	draining := f.page("llama-70b-prod", "r2", tritonPage(2))
	status := draining.Status()
	status.State, status.StateReason = "not_ready", "the server says it is not ready: a model is loading"
	status.Severity, status.Runbook = "broken", "LLMReplicaNotUp"
	draining.Publish(snapshot.Snapshot{Status: status})
	f.slot("mixtral-canary", "r0")
	return f
}

func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, mixedFleet(t).options())
		time.Sleep(3 * time.Second)

		byQuery, byHeader := get(h, "/targets?format=json"), get(h, "/targets", "Accept", "application/json")
		require.Equal(t, "application/json; charset=utf-8", byQuery.Header().Get("Content-Type"))
		require.Equal(t, byQuery.Body.String(), byHeader.Body.String())
		fixture.RequireFile(t, "testdata/targets.json", byQuery.Body.String())

		w := get(h, "/targets", "Accept", "text/html,application/json;q=0.9")
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		fixture.RequireFile(t, "testdata/targets.html", w.Body.String())
		fixture.RequireFile(t, "testdata/known.html", get(h, "/replica?target=llama-70b-prod/r0").Body.String())
	})
}

// TestPoolIsShownOnce uses names with a slash, so that keys of one pool sort between those of
// another.
func TestPoolIsShownOnce(t *testing.T) {
	f := newFleet(t)
	for _, key := range [][2]string{{"prod", "a"}, {"prod", "z"}, {"prod/llama", "r0"}} {
		f.page(key[0], key[1], tritonPage(1))
	}
	page := get(handler(t, f.options()), "/targets").Body.String()

	require.Equal(t, 1, strings.Count(page, `>prod</a> <small>2 of 2 serving`))
	require.Equal(t, 1, strings.Count(page, `>prod/llama</a> <small>1 of 1 serving`))
}

func TestConfigurationIsLinkedIfEnabled(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		opts := newFleet(t).options()
		opts.EnableLifecycle = enabled
		require.Equal(t, enabled, strings.Contains(get(handler(t, opts), "/").Body.String(), `href="config"`))
	}
}

func TestTargetsOfEmptyFleet(t *testing.T) {
	h := handler(t, newFleet(t).options())
	require.NotContains(t, get(h, "/targets").Body.String(), "<table")
	require.JSONEq(
		t,
		`{"summary":{"total":0,"up":0,"down":0,"unknown":0},"targets":[]}`,
		get(h, "/targets?format=json").Body.String(),
	)
}

func TestSecretsInURLsAreNeverShown(t *testing.T) {
	// Z03.
	opts := mixedFleet(t).options()
	opts.EnableLifecycle = true
	h := handler(t, opts)

	for _, path := range []string{
		"/", "/?q=llama", "/replica?target=llama-70b-prod/r0", "/replica?target=llama-70b-prod/r1",
		"/targets", "/targets?format=json", "/sd", "/config", "/metrics",
	} {
		require.NotContains(t, get(h, path).Body.String(), "hunter2", path)
	}
}

func TestURLSecretsInErrorsAreRemoved(t *testing.T) {
	for _, c := range []struct{ name, message, shown string }{
		{
			"a user with a password",
			`Get "http://bob:hunter2@10.0.0.1:8002/x": refused`,
			`Get "http://10.0.0.1:8002/x": refused`,
		},
		{"a user with an email address", "http://bob@corp.example:hunter2@host/", "http://host/"},
		{"a password with an @", "http://bob:hunter2@hunter2@host/", "http://host/"},
		{"a token for a user", "http://hunter2@host", "http://host"},
		{"a query", `"https://host:1/x?token=hunter2": refused`, `"https://host:1/x": refused`},
		{"none", "http://host/a@b: mail to bob@corp.example", "http://host/a@b: mail to bob@corp.example"},
	} {
		f := newFleet(t)
		f.fail("a", "r0", "connect", c.message)
		shown, err := json.Marshal(c.shown)
		require.NoError(t, err)
		require.Contains(
			t,
			get(handler(t, f.options()), "/targets?format=json").Body.String(),
			`"last_error": `+string(shown)+",\n",
			c.name,
		)
	}
}

func TestSearchFindsNoSecrets(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", verdict("down", "broken", "", "Get http://bob:hunter2@gpu:8002/x?token=hunter2: refused"), nil)
	h := handler(t, f.options())
	for text, found := range map[string]string{"GET http://gpu:8002/x": "1 of 1 replica", "hunter": "0 of 1 replica"} {
		require.Contains(t, get(h, "/?q="+url.QueryEscape(text)).Body.String(), found, text)
	}
}

func TestTargetTextIsEscapedInHTML(t *testing.T) {
	// Z04.
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	f := newFleet(t)
	f.fail(evil, evil, evil, evil)
	status := f.slots[evil+"/"+evil].Status()
	status.EngineVersion, status.TRTLLMVersion, status.VersionSource, status.DetectedEngine = evil, evil, evil, evil
	status.State, status.StateReason, status.LastError, status.LastReason = evil, evil, evil, evil
	status.Models = []target.Model{{Name: evil, ModelID: evil, Role: evil, State: evil, Backend: evil}}
	status.Checks = []target.CheckList{{
		Name:   "capabilities",
		Checks: []target.Check{{Name: evil, Reason: evil, Cure: evil}},
	}}
	status.LeftOut = []string{evil}
	status.Canary = &target.Canary{Model: evil, Hold: evil, Result: evil, Reason: evil}
	f.slots[evil+"/"+evil].Publish(snapshot.Snapshot{Status: status})
	h := handler(t, f.options())

	mine := url.QueryEscape(evil + "/" + evil)
	for _, path := range []string{
		"/", "/?pool=" + url.QueryEscape(evil), "/?q=" + url.QueryEscape(evil), "/replica?target=" + mine,
		"/targets",
	} {
		body := get(h, path).Body.String()
		require.NotContains(t, body, "<script>", path)
		require.NotContains(t, body, "<img", path)
		require.Contains(t, body, "&lt;script&gt;", path)
	}
	require.NotContains(t, get(h, "/targets?format=json").Body.String(), "<script>")
}

func TestServiceDiscoveryListsReplicas(t *testing.T) {
	h := handler(t, mixedFleet(t).options())

	w := get(h, "/sd")

	fixture.RequireFile(t, "testdata/sd.json", w.Body.String())
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &groups))
	instances := map[string]bool{}
	for _, g := range groups {
		require.Equal(t, []string{"192.0.2.1:9802"}, g.Targets)
		require.False(t, instances[g.Labels["instance"]], "%s once", g.Labels["instance"])
		instances[g.Labels["instance"]] = true
		page := get(h, g.Labels["__metrics_path__"]+"?target="+g.Labels["__param_target"])
		require.Equal(t, 200, page.Code)
		for name := range g.Labels {
			require.True(
				t,
				strings.HasPrefix(name, "__") || name == "instance",
				"label %s would collide with the series' own",
				name,
			)
		}
	}
	require.Len(t, instances, 5)
}

func TestServiceDiscoveryDistrustsHostHeader(t *testing.T) {
	opts := newFleet(t).options()
	opts.ListenAddresses = append(opts.ListenAddresses, "localhost:0")
	h := handler(t, opts)
	v6 := &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 9802}
	for _, c := range []struct {
		name       string
		host       string
		address    net.Addr
		servername string
		want       string
	}{
		{"another's name", "evil.example", arrivedAt, "", "192.0.2.1:9802"},
		{"another's name, over IPv6", "evil.example:80", v6, "", "[2001:db8::1]:9802"},
		{"none", "", arrivedAt, "", "192.0.2.1:9802"},
		{"a name of the listener", "localhost:0", arrivedAt, "", "localhost:0"},
		{
			"the name of its certificate", "Exporter.example:9802", arrivedAt, "exporter.example",
			"Exporter.example:9802",
		},
		{"not the name of its certificate", "evil.example:9802", arrivedAt, "exporter.example", "192.0.2.1:9802"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/sd", http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.address))
		r.Host = c.host
		if c.servername != "" {
			r.TLS = &tls.ConnectionState{ServerName: c.servername}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var groups []struct{ Targets []string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &groups))
		require.Equal(t, []string{c.want}, groups[0].Targets, c.name)
		require.NotContains(t, w.Body.String(), "evil", c.name)
	}
}

func TestEngineIsConfiguredOrDetected(t *testing.T) {
	for _, c := range []struct {
		configured, detected, want string
	}{
		{"auto", "", "<td>detecting</td>"},
		{"auto", "unknown", "<td>detecting</td>"},
		{"auto", "nim", "<td>nim</td>"},
		{"triton", "", "<td>triton</td>"},
		{"triton", "dynamo", "<td>triton</td>"},
	} {
		f := newFleet(t)
		slot, err := f.store.Add(&target.Target{PoolID: "a", ReplicaID: "r0", Engine: c.configured})
		require.NoError(t, err)
		slot.Publish(snapshot.Snapshot{Status: target.Status{
			Server:   target.Server{DetectedEngine: c.detected},
			Scraping: target.Scraping{Samples: 1234567, Health: target.HealthUp},
		}})
		page := get(handler(t, f.options()), "/targets").Body.String()
		require.Contains(t, page, c.want)
		require.Contains(t, page, "1\u202f234\u202f567")
	}
}

func TestTimesInWords(t *testing.T) {
	for after, want := range map[time.Duration]string{
		500 * time.Millisecond: "just now",
		9 * time.Second:        "9 s ago",
		59 * time.Second:       "59 s ago",
		59 * time.Minute:       "59 min ago",
		47 * time.Hour:         "47 h ago",
		72 * time.Hour:         "3 d ago",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := oneReplica(t)
			h := handler(t, f.options())
			time.Sleep(after)

			require.Contains(t, get(h, "/targets").Body.String(), ">"+want+"<")
		})
	}
}

// searched returns the answer at a path of a server with results of discovery.
func searched(t *testing.T, all []target.PoolDiscovery, path string) (status int, body string) {
	t.Helper()
	opts := newFleet(t).options()
	opts.Searches = func() []target.PoolDiscovery { return all }
	opts.Ready = func() bool { return all[0].Answered }
	w := get(handler(t, opts), path)
	return w.Code, w.Body.String()
}

// dropping returns a pool whose targets were all dropped by relabeling.
func dropping() []target.PoolDiscovery {
	return []target.PoolDiscovery{{
		PoolID: "llama", Answered: true, Found: 1, Dropped: 1,
		Sources: []target.Source{{
			Key:         "http_sd_configs[0]",
			Targets:     1,
			LastSuccess: time.Now(),
			LastErrorAt: time.Now().Add(-time.Hour),
			LastError:   "Get http://bob:hunter2@sd/: refused",
		}},
		Drops: []target.Drop{{
			Source:  "static_configs[0]",
			Address: "<b>:1",
			Rule:    "relabel_configs[0] drops every target",
		}},
	}}
}

func TestReadinessNamesMissingSources(t *testing.T) {
	all := []target.PoolDiscovery{{
		PoolID:  "llama",
		Sources: []target.Source{{Key: "http_sd_configs[0]", LastErrorAt: time.Now(), LastError: "connection refused"}},
	}}
	status, body := searched(t, all, "/-/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "Not ready: pool llama waits for http_sd_configs[0] (connection refused).\n", body)
	_, body = searched(t, all, "/")
	require.Contains(t, body, "Pool llama waits for http_sd_configs[0]")
}

func TestPoolWithoutTargetsIsReady(t *testing.T) {
	status, body := searched(t, dropping(), "/-/ready")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "Ready.\nPool llama has no targets: the only target found was dropped, <b>:1: "+
		"relabel_configs[0] drops every target.\n", body)
	_, body = searched(t, dropping(), "/")
	require.Contains(t, body, "Pool llama has no targets")
	require.Contains(t, body, "&lt;b&gt;:1", "names are shown as text")
}

func TestDroppedTargets(t *testing.T) {
	_, body := searched(t, dropping(), "/targets?dropped")
	require.Contains(t, body, "&lt;b&gt;:1 (static_configs[0]): relabel_configs[0] drops every target")
	require.Contains(t, body, "http_sd_configs[0]")
	require.NotContains(t, body, "hunter2")
	_, body = searched(t, dropping(), "/targets?format=json&dropped")
	require.Contains(t, body, `"rule": "relabel_configs[0] drops every target"`)
	require.NotContains(t, body, "hunter2")
	_, body = searched(t, dropping(), "/targets?format=json")
	require.Contains(t, body, `"dropped": 1`)
	require.NotContains(t, body, `"rule"`)
}
