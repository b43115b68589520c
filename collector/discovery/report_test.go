package discovery_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// TestFailingSourceIsLoggedOnce lets a source fail at each attempt, with the messages of
// Prometheus' discoverers: they are logged once, and again after a change.
func TestFailingSourceIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		source := newScript()
		m := discovery.NewOf(slog.New(slog.NewTextHandler(&log, nil)), nil, source)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go m.Run(ctx, func([]*targetgroup.Group) {})
		fails := func(why string, times int) {
			for range times {
				m.LoggerOf(0).Error("Unable to refresh target groups", "err", why)
				time.Sleep(10 * time.Second)
			}
		}
		requireLog := func(want ...string) {
			t.Helper()
			synctest.Wait()
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			log.Reset()
			require.Len(t, lines, len(want), "%s", lines)
			for i, line := range lines {
				require.Contains(t, line, want[i])
				require.Contains(t, line, "discovery=fake_sd_configs[0]")
			}
		}

		fails("connection refused", 30)
		requireLog("connection refused")
		fails("timeout", 3)
		requireLog("timeout")
		require.Equal(t, "timeout", m.Sources()[0].LastError, "the pages have the last one in any case")
		fails(`Get "http://user:hunter2@sd.example/list?token=hunter3": EOF`, 1)
		requireLog(`Get \"http://sd.example/list\": EOF`)
		source.name <- []*targetgroup.Group{group("0", "a:1")}
		requireLog("Source of targets answers again")
		source.name <- []*targetgroup.Group{group("0", "b:1")}
		synctest.Wait()
		fails("connection refused", 3)
		requireLog("connection refused")
	})
}
