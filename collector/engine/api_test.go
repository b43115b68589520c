package engine_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// given returns an API at a configured address.
func given(t *testing.T) *engine.Endpoint {
	t.Helper()
	var l engine.Locator
	return l.Locate(nil, &target.Target{APIURL: "http://10.0.0.1:8000"}, engineOf(t, engine.Triton), false)
}

// TestProxyEchoesOneStatus has a vLLM that answered all questions, then one round of answers and an empty 503 to the
// question whether it is ready.
func TestProxyEchoesOneStatus(t *testing.T) {
	status := func(of int) engine.Problem { return engine.Problem{Status: of} }
	silence := engine.Problem{Unanswered: true}
	const page, elsewhere = "http://10.0.0.1:8000", "http://10.0.0.1:9000"
	for _, c := range []struct {
		name, api string
		round     engine.Facts
		server    bool
	}{
		{"503 to all, on another port", elsewhere, engine.Facts{Problems: []engine.Problem{status(503), status(503)}}, false},
		{"503 to all that was answered", elsewhere, engine.Facts{Problems: []engine.Problem{status(503), silence}}, false},
		{"404 too", elsewhere, engine.Facts{Problems: []engine.Problem{status(503), status(404)}}, true},
		{"silence", elsewhere, engine.Facts{Problems: []engine.Problem{silence}}, true},
		{"its version", elsewhere, engine.Facts{EngineVersion: "0.12.0"}, true},
		{"503 to all, on the port of the page", page, engine.Facts{Problems: []engine.Problem{status(503)}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l engine.Locator
			at := l.Locate(nil, &target.Target{MetricsURL: page + "/metrics", APIURL: c.api}, engineOf(t, engine.VLLM), false)
			var a engine.Answers
			a.AddFacts(engine.Facts{Confirmed: true, Listed: true, EngineVersion: "0.12.0"}, time.Minute)
			a.AddHealth(engine.Health{API: engine.APIReady, Status: 200})
			a.Reconcile(at, nil)
			a.AddFacts(c.round, time.Minute)
			a.AddHealth(engine.Health{API: engine.APINotReady, FromServer: true, Status: 503})
			a.Reconcile(at, nil)
			require.Equal(t, engine.APINotReady, a.Health.API, "it counts as not ready")
			require.Equal(t, c.server, a.Health.FromServer, "its own answer for sure")
		})
	}
}

func TestHealthRemembersEarlierAnswers(t *testing.T) {
	const notFound = "it was not found at http://10.0.0.1:8000; check api_port and api_path, which say that its " +
		"API is there"
	refused := engine.Health{API: engine.APIRefused, Detail: "the API refuses connections"}
	ready := engine.Health{API: engine.APIReady, Status: 200, Live: true, LiveKnown: true}
	for _, c := range []struct {
		name        string
		heard       []engine.Health
		seen, lived bool
		detail      string
	}{
		{"never found", []engine.Health{refused}, false, false, notFound},
		{"and is still not", []engine.Health{refused, refused}, false, false, notFound},
		{"refused after an answer", []engine.Health{ready, refused}, true, true, "the API refuses connections"},
		{"no longer live", []engine.Health{ready, {API: engine.APINotReady, Status: 400}}, true, true, ""},
		{"never live", []engine.Health{{API: engine.APINotReady, FromServer: true, Status: 503}}, true, false, ""},
	} {
		var a engine.Answers
		a.AddFacts(engine.Facts{EngineVersion: "1"}, time.Minute)
		for _, h := range c.heard {
			a.AddHealth(h)
			a.Reconcile(given(t), nil)
		}
		require.Equal(t, c.seen, a.Health.Found, c.name)
		require.Equal(t, c.lived, a.Health.WasLive, c.name)
		require.Equal(t, c.detail, a.Health.Detail, c.name)
	}
}

func TestFactsSurviveFaultsOfSameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval, keepRounds = 30 * time.Second, 10
		var a engine.Answers
		unanswered := func(after time.Duration) string {
			time.Sleep(after)
			a.AddFacts(engine.Facts{}, interval)
			a.Reconcile(given(t), nil)
			return a.Facts.EngineVersion
		}
		a.AddFacts(engine.Facts{EngineVersion: "1"}, interval)
		a.Reconcile(given(t), nil)
		require.Equal(t, "1", unanswered(1000*interval), "the same process has the same version")
		a.Distrust()
		require.Equal(t, "1", unanswered(keepRounds*interval/2))
		a.Distrust() // The first time counts.
		require.Equal(t, "1", unanswered(keepRounds*interval/2))
		require.Empty(t, unanswered(1))
		a.AddFacts(engine.Facts{EngineVersion: "2"}, interval)
		require.Equal(t, "2", unanswered(1000*interval), "it is trusted again")
	})
}

func TestUnansweredRoundContradictsNothing(t *testing.T) {
	var a engine.Answers
	facts := engine.Facts{
		Confirmed: true,
		Listed:    true,
		Models:    []engine.ModelFacts{{Name: "m", State: engine.ModelReady}},
	}
	health := engine.Health{API: engine.APIReady, Status: 200}
	for _, series := range []string{"success", "failure", "failure"} { // It unloads its models after its API has ended.
		a.AddFacts(facts, time.Minute)
		a.AddHealth(health)
		a.Reconcile(given(t), readPage(t, engine.Triton, []byte("nv_inference_request_"+series+"{model=\"m\"} 1\n")))
		facts, health = engine.Facts{}, engine.Health{API: engine.APIRefused, Detail: "it refuses"}
	}
	require.Equal(t, "it refuses", a.Health.Detail)
}

func TestPartialFactsAreUsedImmediately(t *testing.T) {
	var a engine.Answers
	a.AddPartialFacts(engine.Facts{EngineVersion: "1"})
	a.Reconcile(given(t), nil)
	require.Equal(t, "1", a.Facts.EngineVersion)
	problems := []engine.Problem{{}}
	a.AddFacts(engine.Facts{EngineVersion: "1", Problems: problems}, time.Minute)
	a.Reconcile(given(t), nil)
	before := a.Facts
	a.AddPartialFacts(engine.Facts{EngineVersion: "1"})
	a.Reconcile(given(t), nil)
	require.Same(t, before, a.Facts, "only a complete round changes the problems")
	a.AddPartialFacts(engine.Facts{EngineVersion: "2"})
	a.Reconcile(given(t), nil)
	require.Equal(t, "2", a.Facts.EngineVersion)
	require.Equal(t, problems, a.Facts.Problems)
}

func TestAnswersAreTrustedLongerWithoutChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 30 * time.Second
		var s engine.Pacer
		now := engine.Signs{Epoch: 1}
		settled := &engine.Health{API: engine.APIReady, Status: 200}
		require.False(t, s.HealthOutdated(now), "it was never asked")
		s.HealthRequested(now)
		s.IdentityRequested(now, 0)
		require.False(t, s.HealthValid(nil, now, every), "there is no answer")
		refused := &engine.Health{API: engine.APIRefused}
		require.False(t, s.HealthValid(refused, now, every), "a connection that was refused may be accepted any time")
		require.True(t, s.HealthValid(settled, now, every), "an answer of a ready server")
		require.Equal(t, every, s.IdentityInterval(nil, now, 0, every))
		require.Less(t, s.IdentityInterval(&engine.Facts{}, now, 1, every), every/4, "the page counts another model")
		require.Equal(t, every, s.IdentityInterval(&engine.Facts{Problems: []engine.Problem{{}}}, now, 0, every))
		require.Equal(t, engine.IdentityRounds*every, s.IdentityInterval(&engine.Facts{}, now, 0, every))
		require.Equal(t, every, s.IdentityInterval(&engine.Facts{Listed: true}, now, 0, every), "no model is listed yet")
		for _, other := range []engine.Signs{{Epoch: 2}, {Epoch: 1, Reshaped: 1}, {Epoch: 1, Restarts: 1}} {
			require.True(t, s.HealthOutdated(other), "%+v outdates it", other)
			require.False(t, s.HealthValid(settled, other, every), "it is not valid with %+v", other)
			require.Equal(t, every, s.IdentityInterval(&engine.Facts{}, other, 0, every))
		}
		require.False(t, s.HealthOutdated(now), "nothing has changed")
		time.Sleep(engine.HealthRounds*every - time.Nanosecond)
		require.True(t, s.HealthValid(settled, now, every), "its time is not over")
		time.Sleep(time.Nanosecond)
		require.False(t, s.HealthValid(settled, now, every), "all is asked again at a slow pace")
	})
}

func TestUnansweredIdentityIsRetriedSoon(t *testing.T) {
	const every = 32 * time.Second
	open, all := &engine.Facts{Problems: []engine.Problem{{}}}, &engine.Facts{}
	var s engine.Pacer
	signs := engine.Signs{Epoch: 1}
	s.IdentityRequested(signs, 0)
	require.Equal(t, every, s.RetryInterval(every), "nothing was answered yet")
	paces := func() (all []time.Duration) {
		for range 5 {
			s.IdentityRequested(signs, 0)
			s.IdentityReceived(open)
			all = append(all, s.IdentityInterval(open, signs, 0, every))
		}
		return all
	}
	growing := []time.Duration{every / 8, every / 4, every / 2, every, every}
	require.Equal(t, growing, paces())
	s.IdentityReceived(all)
	require.Equal(t, engine.IdentityRounds*every, s.IdentityInterval(all, signs, 0, every))
	require.Equal(t, growing, paces(), "after a round that was answered")
	signs.Restarts++
	require.Equal(t, growing, paces(), "of a server that began again")
}

func TestConnectionsToAPIWithPortOfItsOwnAreNotKept(t *testing.T) {
	for base, kept := range map[string]bool{
		"http://h:8000":     true,
		"http://h:8000/llm": true,
		"http://h:8001":     false,
		"http://h:80001":    false,
	} {
		var l engine.Locator
		at := &target.Target{MetricsURL: "http://h:8000/metrics", APIURL: base}
		require.Equal(t, kept, l.Locate(nil, at, engineOf(t, engine.VLLM), false).KeepAlive(), base)
	}
}

func TestAPIAddressByPage(t *testing.T) {
	for _, c := range []struct {
		kind engine.Name
		page string
		grpc bool
		base string
	}{
		{engine.VLLM, "http://h:8000/metrics", false, "http://h:8000"},
		{engine.VLLM, "http://h/metrics", true, "http://h:80"},
		{engine.Triton, "http://h:8002/metrics", false, "http://h:8000"},
		{engine.Triton, "http://h:8002/a/metrics", false, "http://h:8002/a"},
		{engine.Triton, "https://h:8002/metrics", true, "grpcs://h:8001"},
		{engine.Triton, "http://h:2/metrics", true, "grpc://h:1"},
		{engine.Triton, "http://h:2/metrics", false, ""},
		{engine.Triton, "http://h:1/metrics", true, ""},
	} {
		var l engine.Locator
		require.Equal(
			t,
			c.base,
			l.Locate(nil, &target.Target{MetricsURL: c.page}, engineOf(t, c.kind), c.grpc).URL(),
			"%s of %s",
			c.page,
			c.kind,
		)
	}
}

func TestAnswersOfUnprovenServerDoNotCount(t *testing.T) {
	const (
		m, served, llama = "nv_inference_request_success{model=\"m\"} 1\n", "vllm:num_requests_running{model_name=\"m\"} 1\n", "vllm:num_requests_running{model_name=\"meta/llama\"} 1\n"
		set, check       = "; set api_port or api_path", "; check api_port and api_path, which say that its " +
			"API is there"
		given, guess      = "http://h:8000", ""
		other, unprovable = "what answers at http://h:8000 is of another kind, or has other models " +
			"than the page", "nothing shows that what answers at http://h:8000 is its API (busy)"
	)
	of := func(confirmed bool, models ...engine.ModelFacts) engine.Facts {
		return engine.Facts{Confirmed: confirmed, Listed: true, Models: models}
	}
	html := engine.Facts{Problems: []engine.Problem{{Unexpected: true}}}
	renamed := engine.ModelFacts{Name: "my-model", Root: "meta/llama", State: engine.ModelReady}
	for _, c := range []struct {
		name             string
		kind             engine.Name
		page, configured string
		facts            engine.Facts
		version, detail  string
		found            bool
	}{
		{"a Triton before its first page", engine.Triton, "", guess, engine.Facts{Confirmed: true}, "2", "busy", false},
		{"another server before the first page", engine.Triton, "", guess, engine.Facts{}, "", unprovable + set, false},
		{"a Triton with the model of the page", engine.Triton, m, guess, of(true, named("m")...), "2", "busy", true},
		{"a Triton with another model", engine.Triton, m, guess, of(true, named("n")...), "", other + set, false},
		{
			"a Triton with another model where the operator says",
			engine.Triton, m, given, of(true, named("n")...), "2", unprovable + check, false,
		},
		{
			"a Triton that lists no model of the page where the operator says",
			engine.Triton, m, given, of(true), "2", unprovable + check, false,
		},
		{
			"a Triton that lists no model of the page at a guessed port",
			engine.Triton, m, guess, of(true), "", other + set, false,
		},
		{
			"another kind with other models where the operator says",
			engine.Triton, m, given, html, "", other + check, false,
		},
		{"a proxy at a configured address", engine.Triton, m, given, engine.Facts{}, "2", unprovable + check, false},
		{
			"a vLLM that serves the page's model under another name",
			engine.VLLM, llama, guess, of(true, renamed), "2", "busy", true,
		},
		{
			"a vLLM that has another model, and another name for it",
			engine.VLLM, served, guess, of(true, renamed), "", other + set, false,
		},
		{
			"the same where the operator says", engine.VLLM, served, given, of(true, renamed), "2",
			unprovable + check, false,
		},
		{
			"a NIM whose page names no model", engine.NIM, "request_count_total 1\n", guess, of(true, named("n")...),
			"2", "busy", false,
		},
		{
			"what may be any server, beside a page that names no model",
			engine.NIM, "request_count_total 1\n", guess, of(false, named("n")...), "2", unprovable + set, false,
		},
		{
			"a vLLM that says nothing but other names on the page's port",
			engine.VLLM, served, guess, of(true, named("n")...), "2", unprovable + set, false,
		},
		{
			"an unknown server with other names on the page's port",
			engine.VLLM, served, guess, of(false, named("n")...), "", other + set, false,
		},
		{
			"an unknown server with other names where the operator says",
			engine.VLLM, served, given, of(false, named("n")...), "", other + check, false,
		},
	} {
		var l engine.Locator
		var a engine.Answers
		var page *engine.Page
		if c.page != "" {
			page = readPage(t, c.kind, []byte(c.page))
		}
		c.facts.EngineVersion = "2"
		a.AddFacts(c.facts, time.Minute)
		a.AddHealth(engine.Health{API: engine.APINotReady, Status: 503, Detail: "busy"})
		metrics := "http://h:8002/metrics"
		if engineOf(t, c.kind).SamePort() {
			metrics = "http://h:8000/metrics"
		}
		a.Reconcile(l.Locate(nil, &target.Target{
			MetricsURL: metrics,
			APIURL:     c.configured,
		}, engineOf(t, c.kind), false), page)
		require.Equal(t, c.version, a.Facts.EngineVersion, c.name)
		require.Equal(t, c.detail, a.Health.Detail, c.name)
		require.Equal(t, c.found, a.Health.Found, c.name)
	}
}

// TestTritonFollowsAnotherServerAtGivenAddress has an address that another server had at first.
func TestTritonFollowsAnotherServerAtGivenAddress(t *testing.T) {
	page := readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"m\"} 1\n"))
	var a engine.Answers
	round := func(f engine.Facts) {
		f.EngineVersion = "2"
		a.AddFacts(f, time.Minute)
		a.AddHealth(engine.Health{API: engine.APIReady, Status: 200})
		a.Reconcile(given(t), page)
	}
	round(engine.Facts{Problems: []engine.Problem{{Unexpected: true}}})
	require.Empty(t, a.Facts.EngineVersion)
	require.Equal(t, engine.SaidNothing, a.Health.Said())
	for range 3 {
		round(engine.Facts{Confirmed: true, Listed: true, Models: named("n")})
		require.Equal(t, "2", a.Facts.EngineVersion)
		require.Equal(t, engine.SaidReady, a.Health.Said())
	}
	round(engine.Facts{Confirmed: true, Listed: true, Models: named("m")})
	require.Equal(t, "2", a.Facts.EngineVersion)
}

// health answers over brief connections only, as questions about health are asked.
type health struct{ response }

// Do implements engine.Client.
func (health) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	return 0, nil, nil, errors.New("the connection is kept open")
}

// DoBrief implements engine.BriefClient.
func (h health) DoBrief(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	return h.response.Do(ctx, method, address, body, limit)
}

func TestAskReadyCountsOnlyAnswersOfServer(t *testing.T) {
	const vllm, triton, base = "http://h:8000/metrics", "http://h:8002/metrics", "http://h:8000"
	up, down, proxy := response{status: 200}, response{status: 400}, response{status: 503, body: "no upstream"}
	for _, c := range []struct {
		kind                   engine.Name
		page, found, configure string
		server                 response
		ready, known           bool
	}{
		{engine.VLLM, vllm, "", "", up, true, true},
		{engine.Triton, triton, "", "", up, false, false},
		{engine.Triton, triton, base, "", proxy, false, false},
		{engine.Triton, triton, base, "", down, false, true},
		{engine.Triton, triton, "", base, down, false, true},
		{engine.Triton, triton, "", base, proxy, false, false},
	} {
		at := &target.Target{MetricsURL: c.page, APIURL: c.configure, Timeout: time.Second}
		ready, known := engine.BuiltIn().AskReady(t.Context(), health{c.server}, at, string(c.kind), c.found, false)
		require.Equal(t, [2]bool{c.ready, c.known}, [2]bool{ready, known}, c)
	}
}
