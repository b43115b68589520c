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

// paceOfTruth is the iteration of the executors that are compared, four times
// that of the other tests: so three servers, their clients and the exporter
// take a fifth of a machine of two cores, and none of them slows the others.
const paceOfTruth = 40 * time.Millisecond

// levels returns loads by how much of what the slots can do is asked for.
func levels() []struct {
	name  string
	share float64
} {
	return []struct {
		name  string
		share float64
	}{{"light", 0.3}, {"near the limit", 0.8}, {"above the limit", 1.15}}
}

// played is one level: a server, its client and its name.
type played struct {
	name, replica string
	server        *tritonServer
	client        *openLoop
}

// TestDerivedValuesAreTrueOfTriton compares what is derived from real servers
// with what their clients did, at three levels of load at the same time.
func TestDerivedValuesAreTrueOfTriton(t *testing.T) {
	binary := exporterBinary(t)
	t.Setenv("MODELS", slowedModels(t))
	var all []*played
	var targets strings.Builder
	requests := requestsOfTruth()
	capacity := slots / paceOfTruth.Seconds() / requests.meanTokens()
	for n, level := range levels() {
		server := startTriton(t, releases()[0])
		if !server.release.histograms {
			require.FailNow(t, "this release counts no tokens")
		}
		client := &openLoop{send: server.send, plan: requests.poisson(uint64(n+1), capacity*level.share, *loadFor)}
		all = append(all, &played{level.name, strings.ReplaceAll(level.name, " ", "-"), server, client})
		fmt.Fprintf(&targets, "      - { targets: [%q], labels: { replica_id: %s } }\n", server.metricsAddress(), all[n].replica)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3**loadFor+time.Minute)
	defer cancel()
	var sending sync.WaitGroup
	for _, p := range all {
		sending.Go(func() { p.client.run(ctx) })
	}
	pause(ctx, warmUp)
	w := watchFromTheFirst(t, binary, "global: { scrape_interval: 1s, scrape_timeout: 1s }\npools:\n  - pool_id: truth\n    static_configs:\n"+targets.String(), len(all))
	var ready []*probed
	for _, p := range all {
		ready = append(ready, startProbe(t, w.exporter, "/-/replicas/truth/"+p.replica+"/ready"), startProbe(t, w.exporter, "/-/replicas/truth/"+p.replica+"/live"))
	}
	sending.Wait()
	ended := time.Now()
	for _, p := range all {
		p.client.under.Wait()
		require.Empty(t, p.client.problems)
	}
	pause(ctx, 4*time.Second) // Its last requests come to the exporter's page.
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

// compare compares one level while its load lasted, and the totals after it.
func (p *played) compare(t *testing.T, w *watch, ended time.Time) []comparison {
	t.Helper()
	readings := w.of(t, p.replica, int(loadFor.Seconds()/2))
	last := readings[len(readings)-1]
	during := readings[:0:0]
	for _, r := range readings[1:] { // The first has no window yet.
		if r.scraped.Before(ended) {
			during = append(during, r)
		}
	}
	l := newLedger(p.client.outcomes)
	late := l.late()
	require.Less(t, late, mostLate, "the machine is too busy")
	c := &compare{t: t, level: p.name, entry: "/ensemble", failure: "server", readings: append(readings[:1:1], during...), ledger: l, edge: countedWithin + late, age: gaugeAge + 2*late, underWay: 40 * time.Millisecond}
	c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.answered)
	c.generated()
	c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.asked)
	c.counted("requests_per_second"+c.entry, "requests/s", "requests/s", l.finished, l.failed)
	c.errors()
	c.latency()
	c.gauges()
	c.unknown()
	c.totals(last)
	for _, r := range c.rows {
		t.Log(r)
	}
	return c.rows
}

// slowedModels returns a copy of the models of tools/triton at the pace of this
// test.
func slowedModels(t *testing.T) string {
	t.Helper()
	const iteration = `"iteration_ms" value { string_value: "%d" }`
	return changedModels(t, map[string][2]string{
		"tensorrt_llm/config.pbtxt": {fmt.Sprintf(iteration, 10), fmt.Sprintf(iteration, paceOfTruth.Milliseconds())},
	})
}

// changedModels returns a copy of the models of tools/triton with some text of some
// files changed.
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
