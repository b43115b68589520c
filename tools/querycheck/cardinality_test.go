//go:build budget

package querycheck_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// setting is a fleet and the configuration of an exporter.
type setting struct {
	name string
	// like is the spec of all replicas, file the additional configuration.
	like     simulate.Spec
	replicas int
	file     string
	// global is the scrape configuration; by default scrapes are frequent.
	global string
}

// triton returns the replica on which the others are based.
func triton() simulate.Spec {
	return simulate.Spec{
		Kind: simulate.KindTriton, EngineVersion: "2.64.0", TRTLLMVersion: "1.0.0", Speed: 1, GPUs: 1,
		Setup: simulate.Setup{Histograms: true, Summaries: true}, Streaming: true, Model: "llama",
		Workload: simulate.Workload{Rate: 0.5, PromptTokens: 50, OutputTokens: 8, Spread: 0.3},
		Engine:   simulate.Engine{MaxActive: 16, KVBlocks: 1200, IterationBase: 20 * time.Millisecond},
	}
}

// running is a fleet with an exporter.
type running struct {
	fleet *simulate.Fleet
	page  string
	pid   int
}

// begin starts the fleet of a setting and the exporter.
func (s *setting) begin(t *testing.T) *running {
	t.Helper()
	binary := os.Getenv("TRTLLM_EXPORTER_BIN")
	if binary == "" {
		t.Skip("TRTLLM_EXPORTER_BIN is not set: `make cardinality` sets it")
	}
	pool := simulate.PoolSpec{Name: "p"}
	for i := range s.replicas {
		r := s.like
		r.Name, r.Seed = fmt.Sprintf("r%d", i), uint64(i+1)
		pool.Replicas = append(pool.Replicas, r)
	}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{pool}})
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	var b strings.Builder
	b.WriteString(cmp.Or(s.global, "global: { scrape_interval: 2s, scrape_timeout: 2s, "+
		"window: 10s }") + "\n" + s.file + "\npools:\n  - pool_id: p\n    identity_interval: 2s\n    static_configs:\n")
	for _, r := range fleet.Pools()[0].Replicas {
		fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %s, __metrics_path__: %q, "+
			"__api_address__: %q } }\n", r.MetricsAddr(), r.Name(), r.MetricsPath(), r.APIAddr())
	}
	path := filepath.Join(t.TempDir(), "exporter.yml")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	address := fixture.FreeAddress(t, "127.0.0.1")
	cmd := exec.CommandContext(
		t.Context(),
		binary,
		"serve",
		"--config.file="+path,
		"--web.listen-address="+address,
		"--log.level=error",
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	return &running{fleet: fleet, page: "http://" + address + "/metrics", pid: cmd.Process.Pid}
}

// read returns the page, or nothing while there is none.
func (r *running) read(ctx context.Context) []byte {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.page, http.NoBody)
	if err != nil {
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	return text
}

// settled reads pages until all replicas have a version and the number of series has been
// the same for four seconds.
func (r *running) settled(t *testing.T, version string, replicas int) []byte {
	t.Helper()
	same, before := 0, -1
	for range 240 {
		time.Sleep(time.Second)
		text := r.read(t.Context())
		identified := 0
		lines := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			lines++
			if strings.HasPrefix(line, "trtllm_exporter_target_up{") && strings.HasSuffix(line, "} 1\n") &&
				version == "" ||
				strings.HasPrefix(line, "llm_server_info{") && version != "" && strings.Contains(line, `engine_version="`+version) {
				identified++
			}
		}
		if identified >= replicas && lines == before {
			same++
		} else {
			same = 0
		}
		before = lines
		if same == 4 {
			return text
		}
	}
	require.Fail(t, "the page did not settle")
	return nil
}

// seriesOf returns the labels of all samples of a page.
func seriesOf(t *testing.T, page []byte) []labels.Labels {
	t.Helper()
	p := textparse.NewPromParser(page, labels.NewSymbolTable(), false)
	var all []labels.Labels
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if entry == textparse.EntrySeries {
			var l labels.Labels
			p.Labels(&l)
			all = append(all, l)
		}
	}
}

// lean is the setting with which a replica has no more series than its own page.
const lean = "exposition: { raw: false, normalised: [core] }"

func TestReplicaSeriesCount(t *testing.T) {
	two, plain := triton(), triton()
	two.GPUs, plain.Histograms, plain.Summaries = 2, false, false
	settings := []setting{
		{name: "Triton, an ensemble of five models, one GPU", like: triton()},
		{name: "with a second GPU", like: two},
		{name: "without histograms and summaries of Triton", like: plain},
		{name: "`identity.versions: info`", like: triton(), file: "identity: { versions: info }"},
		{name: "`exposition.raw: unmapped`", like: triton(), file: "exposition: { raw: unmapped }"},
		{name: "`exposition.raw: false`", like: triton(), file: "exposition: { raw: false }"},
		{name: "`exposition.normalised: false`", like: triton(), file: "exposition: { normalised: false }"},
		{name: "`exposition.window_gauges: false`", like: triton(), file: "exposition: { window_gauges: false }"},
		{name: "`exposition.aliases: [vllm]`", like: triton(), file: "exposition: { aliases: [vllm] }"},
		{name: "`" + lean + "`", like: triton(), file: lean},
	}
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			all, raw := s.count(t)
			t.Logf("| %s | %d | %d |", s.name, all, raw)
		})
	}
}

// TestSeriesOfEveryKind compares what a replica costs a Prometheus with the series of its own page.
func TestSeriesOfEveryKind(t *testing.T) {
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			usual, small := setting{like: triton()}, setting{like: triton(), file: lean}
			usual.like.Kind, small.like.Kind = kind, kind
			usual.like.EngineVersion, usual.like.TRTLLMVersion = "", ""
			small.like.EngineVersion, small.like.TRTLLMVersion = "", ""
			all, own := usual.count(t)
			least, _ := small.count(t)
			of := func(n int) float64 { return float64(n) / float64(own) }
			t.Logf("| %s | %d | %d | %.2f | %d | %.2f |", kind, own, least, of(least), all, of(all))
			require.LessOrEqual(t, least, own)
			require.LessOrEqual(t, of(all), mostOf(own))
		})
	}
}

// mostOf returns how many times its own page a replica may have by default. What rules and dashboards need of any server
// is about a hundred series, as many as a small page has.
func mostOf(own int) float64 {
	const small = 200
	if own < small {
		return 2.4
	}
	return 1.9
}

// count returns the series of one of two replicas, and how many of them are the server's own.
func (s setting) count(t *testing.T) (all, raw int) {
	t.Helper()
	s.replicas = 2
	for _, l := range seriesOf(t, s.begin(t).settled(t, "", s.replicas)) {
		name := l.Get(labels.MetricName)
		if l.Get("replica_id") != "r0" {
			continue
		}
		all++
		if !strings.HasPrefix(name, "llm_server_") && !strings.HasPrefix(name, "trtllm_exporter_") {
			raw++
		}
	}
	require.Positive(t, all)
	return all, raw
}

func TestRolloutSeriesWithInfo(t *testing.T) {
	const replicas = 100
	for _, c := range []struct {
		versions string
		most     float64
	}{{"series", 1.5}, {"info", 0.05}} {
		t.Run(c.versions, func(t *testing.T) {
			s := setting{like: triton(), replicas: replicas, file: "identity: { versions: " + c.versions + " }"}
			r := s.begin(t)
			options := tsdb.DefaultOptions()
			db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, options, nil)
			require.NoError(t, err)
			defer db.Close()
			now := time.Now().UnixMilli()
			scraped := func(page []byte) float64 {
				app := db.Appender(t.Context())
				for _, l := range seriesOf(t, page) {
					_, err := app.Append(0, l, now, 1)
					require.NoError(t, err)
				}
				require.NoError(t, app.Commit())
				now += 15_000
				return float64(db.Head().NumSeries())
			}
			before := scraped(r.settled(t, "2.64.0", replicas))
			for _, one := range r.fleet.Pools()[0].Replicas {
				one.Rollout(time.Second, "2.65.0", "1.1.0")
			}
			after := scraped(r.settled(t, "2.65.0", replicas))
			grown := after/before - 1
			t.Logf("versions: %s: %.0f series in the head, %.0f after the "+
				"rollout: %+.1f %%", c.versions, before, after, 100*grown)
			require.LessOrEqual(t, grown, c.most)
			require.Positive(t, grown)
		})
	}
}
