package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestAnswersAreTrustedLongerWithoutChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every = 30 * time.Second
		var s api.Pacer
		now := api.Signs{Epoch: 1}
		settled := &api.Health{Health: engine.Health{API: engine.APIReady, Status: 200}}
		require.True(t, settled.Settled(), "the case is worth nothing else")
		require.False(t, s.HealthOutdated(now), "it was never asked")
		s.HealthRequested(now)
		s.IdentityRequested(now)
		require.False(t, s.HealthValid(nil, now, every), "there is no answer")
		require.False(t, s.HealthValid(&api.Health{Health: engine.Health{API: engine.APIRefused}}, now, every))
		require.True(t, s.HealthValid(settled, now, every))
		require.Equal(t, every, s.IdentityInterval(nil, now, every))
		require.Equal(t, every, s.IdentityInterval(&engine.Facts{Problems: []engine.Problem{{}}}, now, every))
		require.Equal(t, api.IdentityRounds*every, s.IdentityInterval(&engine.Facts{}, now, every))
		for _, other := range []api.Signs{{Epoch: 2}, {Epoch: 1, Reshaped: 1}, {Epoch: 1, Restarts: 1}} {
			require.True(t, s.HealthOutdated(other))
			require.False(t, s.HealthValid(settled, other, every))
			require.Equal(t, every, s.IdentityInterval(&engine.Facts{}, other, every))
		}
		require.False(t, s.HealthOutdated(now))
		time.Sleep(api.HealthRounds*every - time.Nanosecond)
		require.True(t, s.HealthValid(settled, now, every))
		time.Sleep(time.Nanosecond)
		require.False(t, s.HealthValid(settled, now, every), "all is asked again at a slow pace")
	})
}

func TestUnansweredIdentityIsRetriedSoon(t *testing.T) {
	t.Parallel()
	const every = 32 * time.Second
	open, all := &engine.Facts{Problems: []engine.Problem{{}}}, &engine.Facts{}
	var s api.Pacer
	signs := api.Signs{Epoch: 1}
	s.IdentityRequested(signs)
	require.Equal(t, every, s.RetryInterval(every), "nothing was answered yet")
	paces := func() (all []time.Duration) {
		for range 5 {
			s.IdentityRequested(signs)
			s.IdentityReceived(open)
			all = append(all, s.IdentityInterval(open, signs, every))
		}
		return all
	}
	growing := []time.Duration{every / 8, every / 4, every / 2, every, every}
	require.Equal(t, growing, paces())
	s.IdentityReceived(all)
	require.Equal(t, api.IdentityRounds*every, s.IdentityInterval(all, signs, every))
	require.Equal(t, growing, paces(), "after a round that was answered")
	signs.Restarts++
	require.Equal(t, growing, paces(), "of a server that began again")
}
