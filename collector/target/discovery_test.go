package target_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestPoolWithoutTargetsHasReason(t *testing.T) {
	now := time.Now()
	source := target.Source{Key: "file_sd_configs[0]", LastSuccess: now}
	failing := target.Source{Key: "http_sd_configs[0]", LastErrorAt: now, LastError: "connection refused"}
	drop := target.Drop{Address: "10.0.0.1:8002", Rule: "relabel_configs[0] drops every target"}
	for _, c := range []struct {
		name             string
		search           target.PoolDiscovery
		problem, waiting string
	}{
		{
			"has targets",
			target.PoolDiscovery{Answered: true, Found: 2, Dropped: 1, Targets: 1, Drops: []target.Drop{drop}},
			"", "",
		},
		{
			"found none",
			target.PoolDiscovery{Answered: true, Sources: []target.Source{source}},
			"pool a has no targets: file_sd_configs[0] found none",
			"",
		},
		{
			"name servers have none",
			target.PoolDiscovery{Answered: true, Sources: []target.Source{{Key: "dns_sd_configs[0]", LastSuccess: now}}},
			"pool a has no targets: dns_sd_configs[0] (no such record, or no such name) found none",
			"",
		},
		{
			"one source fails",
			target.PoolDiscovery{Answered: true, Sources: []target.Source{source, failing}},
			"pool a has no targets: file_sd_configs[0], http_sd_configs[0] (connection refused) found none", "",
		},
		{
			"all dropped",
			target.PoolDiscovery{Answered: true, Found: 2, Dropped: 2, Drops: []target.Drop{drop, drop}},
			"pool a has no targets: all 2 targets found were dropped, the first 10.0.0.1:8002: relabel_configs[0] " +
				"drops every target", "",
		},
		{
			"the only one dropped",
			target.PoolDiscovery{Answered: true, Found: 1, Dropped: 1, Drops: []target.Drop{drop}},
			"pool a has no targets: the only target found was dropped, 10.0.0.1:8002: relabel_configs[0] drops " +
				"every target", "",
		},
		{
			"none can be used",
			target.PoolDiscovery{Answered: true, Found: 1, LeftOut: 1, Error: "no address"},
			"pool a has no targets: the only target found cannot be used: no address",
			"",
		},
		{
			"none of several can be used",
			target.PoolDiscovery{Answered: true, Found: 2, LeftOut: 2, Error: "no address"},
			"pool a has no targets: none of the 2 targets found can be used, the first: no address",
			"",
		},
		{
			"some dropped, and the others cannot be used",
			target.PoolDiscovery{
				Answered: true,
				Found:    3,
				Dropped:  2,
				LeftOut:  1,
				Drops:    []target.Drop{drop, drop},
				Error:    "no address",
			},
			"pool a has no targets: 3 targets were found, 2 were dropped, and none of the others can be " +
				"used: no address", "",
		},
		{"another exporter has them", target.PoolDiscovery{Answered: true, Found: 1, Elsewhere: 1}, "", ""},
		{
			"waits",
			target.PoolDiscovery{Sources: []target.Source{{Key: "dns_sd_configs[0]"}, failing}},
			"",
			"pool a waits for dns_sd_configs[0], http_sd_configs[0] (connection refused)",
		},
		{
			"waits for a file",
			target.PoolDiscovery{Sources: []target.Source{{Key: "file_sd_configs[0]"}}},
			"",
			"pool a waits for file_sd_configs[0] (no file matches yet)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.search.PoolID = "a"
			require.Equal(t, c.problem, c.search.Problem())
			require.Equal(t, c.waiting, c.search.Waiting())
		})
	}
}

func TestSourceWorksAfterError(t *testing.T) {
	now := time.Now()
	s := target.Source{LastErrorAt: now}
	require.True(t, s.Failing(), "an error and no success since: %+v", s)
	s.LastSuccess = now.Add(time.Minute)
	require.False(t, s.Failing(), "a success since: %+v", s)
	s.LastErrorAt = s.LastSuccess.Add(-time.Millisecond)
	require.True(t, s.Failing(), "it answered with what was left after the error")
}
