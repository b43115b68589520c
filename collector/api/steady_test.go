package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestAnswersCountLongWhileNothingShowsAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every = 30 * time.Second
		var s api.Steady
		now := api.Signs{Epoch: 1}
		settled := &api.Health{Health: engine.Health{API: engine.APIReady, Status: 200}}
		require.True(t, settled.Settled(), "the case is worth nothing else")
		require.False(t, s.HealthChanged(now), "it was never asked")
		s.AskedHealth(now)
		s.AskedIdentity(now)
		require.False(t, s.HealthHolds(nil, now, every), "there is no answer")
		require.False(t, s.HealthHolds(&api.Health{Health: engine.Health{API: engine.APIRefused}}, now, every))
		require.True(t, s.HealthHolds(settled, now, every))
		require.Equal(t, every, s.IdentityPace(nil, now, every))
		require.Equal(t, every, s.IdentityPace(&engine.Facts{Problems: []engine.Problem{{}}}, now, every))
		require.Equal(t, api.IdentityRounds*every, s.IdentityPace(&engine.Facts{}, now, every))
		for _, other := range []api.Signs{{Epoch: 2}, {Epoch: 1, Reshaped: 1}, {Epoch: 1, Restarts: 1}} {
			require.True(t, s.HealthChanged(other))
			require.False(t, s.HealthHolds(settled, other, every))
			require.Equal(t, every, s.IdentityPace(&engine.Facts{}, other, every))
		}
		require.False(t, s.HealthChanged(now))
		time.Sleep(api.HealthRounds*every - time.Nanosecond)
		require.True(t, s.HealthHolds(settled, now, every))
		time.Sleep(time.Nanosecond)
		require.False(t, s.HealthHolds(settled, now, every), "all is asked again at a slow pace")
	})
}

func TestQuestionsAboutIdentityThatWereNotAnsweredAreRepeatedSoonForAWhile(t *testing.T) {
	t.Parallel()
	const every = 32 * time.Second
	open, all := &engine.Facts{Problems: []engine.Problem{{}}}, &engine.Facts{}
	var s api.Steady
	signs := api.Signs{Epoch: 1}
	s.AskedIdentity(signs)
	require.Equal(t, every, s.Again(every), "nothing was answered yet")
	paces := func() (all []time.Duration) {
		for range 5 {
			s.AskedIdentity(signs)
			s.ToldIdentity(open)
			all = append(all, s.IdentityPace(open, signs, every))
		}
		return all
	}
	growing := []time.Duration{every / 8, every / 4, every / 2, every, every}
	require.Equal(t, growing, paces())
	s.ToldIdentity(all)
	require.Equal(t, api.IdentityRounds*every, s.IdentityPace(all, signs, every))
	require.Equal(t, growing, paces(), "after a round that was answered")
	signs.Restarts++
	require.Equal(t, growing, paces(), "of a server that began again")
}
