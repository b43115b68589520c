//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watchFromTheFirst starts an exporter and sees the first scrape of each
// replica, where its windows begin. The second may come so soon after it that
// the first is not seen: then it starts another.
func watchFromTheFirst(t *testing.T, binary, config string, replicas int) *watch {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	for range 5 {
		e := &exporter{port: freePorts(t, 1)}
		e.process = startProcess(t, "exporter", nil, binary, "--config.file", file, "--web.listen-address", fmt.Sprintf("127.0.0.1:%d", e.port))
		w := startWatch(t, e, replicas)
		whole := false
		within(t, 20*time.Second, "the exporter has scraped twice", func() bool {
			require.False(t, e.ended(), "the exporter ended by itself")
			seen, first := w.begun()
			whole = first
			return seen == replicas
		})
		if whole {
			return w
		}
		w.stop()
		e.kill(t)
	}
	require.FailNow(t, "the first scrapes were missed five times")
	return nil
}
