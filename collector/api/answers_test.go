package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// given returns an API at a configured address.
func given(t *testing.T) *api.Endpoint {
	t.Helper()
	e, _ := engine.ByName(string(engine.VLLM))
	return &api.Endpoint{Engine: e, Location: api.Location{Base: "http://10.0.0.1:8000", Certain: true}}
}

func TestHealthRemembersEarlierAnswers(t *testing.T) {
	t.Parallel()
	const notFound = "it was not found at http://10.0.0.1:8000; set api_port or api_path"
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
		var a api.Answers
		a.AddFacts(engine.Facts{EngineVersion: "1"}, time.Minute)
		for _, h := range c.heard {
			a.AddHealth(api.Health{Health: h})
			a.Reconcile(given(t), nil)
		}
		require.Equal(t, c.seen, a.Health.Found, c.name)
		require.Equal(t, c.lived, a.Health.WasLive, c.name)
		require.Equal(t, c.detail, a.Health.Detail, c.name)
	}
}

func TestFactsSurviveFaultsOfSameServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval, keepRounds = 30 * time.Second, 10
		var a api.Answers
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

func TestPartialFactsAreUsedImmediately(t *testing.T) {
	t.Parallel()
	var a api.Answers
	a.AddPartialFacts(engine.Facts{EngineVersion: "1"})
	a.Reconcile(given(t), nil)
	require.Equal(t, "1", a.Facts.EngineVersion)
	problems := []engine.Problem{{}}
	a.AddFacts(engine.Facts{EngineVersion: "1", Problems: problems}, time.Minute)
	a.Reconcile(given(t), nil)
	before := a.Facts
	a.AddPartialFacts(engine.Facts{EngineVersion: "1"})
	a.Reconcile(given(t), nil)
	require.Same(t, before, a.Facts, "problems are those of a whole round")
	a.AddPartialFacts(engine.Facts{EngineVersion: "2"})
	a.Reconcile(given(t), nil)
	require.Equal(t, "2", a.Facts.EngineVersion)
	require.Equal(t, problems, a.Facts.Problems)
}
