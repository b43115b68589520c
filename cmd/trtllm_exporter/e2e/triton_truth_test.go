//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// paceOfTruth is the iteration time of the compared executors, four times that of other
// tests, so that three servers, their clients and the exporter use a fifth of two cores and
// do not slow each other down.
const paceOfTruth = 40 * time.Millisecond

type played struct {
	name, replica string
	server        *tritonServer
	client        *openLoop
}

// TestTritonDerivedValuesAreTrue applies three levels of load at the same time.
func TestTritonDerivedValuesAreTrue(t *testing.T) {
	t.Setenv("MODELS", slowedModels(t))
	var all []*played
	var targets strings.Builder
	requests := requestsOfTruth()
	capacity := slots / paceOfTruth.Seconds() / requests.meanTokens()
	for n, level := range []level{{"light", 0.3}, {"near the limit", 0.8}, {"above the limit", 1.15}} {
		server := startTriton(t, releases()[0])
		client := &openLoop{send: server.send, plan: requests.poisson(uint64(n+1), capacity*level.share, *loadFor)}
		all = append(all, &played{level.name, strings.ReplaceAll(level.name, " ", "-"), server, client})
		fmt.Fprintf(
			&targets,
			"      - { targets: [%q], labels: { replica_id: %s } }\n",
			server.metricsAddress(),
			all[n].replica,
		)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3**loadFor+time.Minute)
	defer cancel()
	var sending sync.WaitGroup
	for _, p := range all {
		sending.Go(func() { p.client.run(ctx) })
	}
	pause(ctx, warmUp)
	w := watchFromTheFirst(t, "global: { scrape_interval: 1s, scrape_timeout: 1s }\npools:\n  - pool_id: truth\n"+
		"    static_configs:\n"+targets.String(), len(all))
	var ready []*probed
	for _, p := range all {
		ready = append(
			ready,
			startProbe(t, w.exporter, "/-/replicas/truth/"+p.replica+"/ready"),
			startProbe(t, w.exporter, "/-/replicas/truth/"+p.replica+"/live"),
		)
	}
	sending.Wait()
	ended := time.Now()
	for _, p := range all {
		p.client.under.Wait()
		require.Empty(t, p.client.problems)
	}
	pause(ctx, 4*time.Second) // Its last requests reach the exporter's page.
	for _, p := range ready {
		p.never(t, http.StatusServiceUnavailable)
	}
	w.stop()

	var rows []comparison
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { rows = append(rows, p.compare(t, w, ended)...) })
	}
	if !t.Failed() {
		requireDocumented(t, "triton", rows, *updateTruth)
	}
}

func (p *played) compare(t *testing.T, w *watch, ended time.Time) []comparison {
	t.Helper()
	c, last, late := newCompare(t, w, p.replica, p.name, p.client, ended)
	c.entry, c.failure, c.edge, c.age, c.underWay = "/ensemble", "server", countedWithin+late, gaugeAge+2*late, 40*time.Millisecond
	l := c.ledger
	c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.answered)
	c.generated()
	c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.asked)
	c.counted("requests_per_second"+c.entry, "requests/s", "requests/s", l.finished, l.failed)
	c.errors()
	c.latency()
	c.gauges()
	c.unknown()
	c.totals(last)
	return c.logged()
}

// slowedModels returns a copy of the models with paceOfTruth.
func slowedModels(t *testing.T) string {
	t.Helper()
	const iteration = `"iteration_ms" value { string_value: "%d" }`
	return changedModels(t, map[string][2]string{
		"tensorrt_llm/config.pbtxt": {fmt.Sprintf(iteration, 10), fmt.Sprintf(iteration, paceOfTruth.Milliseconds())},
	})
}

// changedModels returns a copy of the models of tools/triton with changed files.
func changedModels(t *testing.T, changes map[string][2]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(repositoryRoot(t), "tools/triton/models"))))
	for name, change := range changes {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), change[0])
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
	}
	return dir
}
