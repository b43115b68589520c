package top

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// TestAllSurfacesAgree plays every kind of server in each scenario, and compares pages,
// JSON, probes, terminal, recording rules, an alert and dashboards.
func TestAllSurfacesAgree(t *testing.T) {
	var tests []object
	for _, scenario := range matrix.Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			base := served(t, played(t, &scenario))
			fleet, _, err := (&Client{HTTP: http.DefaultClient, URL: base}).Fleet(t.Context())
			require.NoError(t, err)

			_, targets := plainText(t, base+"/targets")
			serving, suspected, excused := 0, 0, 0
			for i := range fleet.Replicas {
				r := &fleet.Replicas[i]
				serves := r.State == "ready" || r.State == "blind"
				if serves {
					serving++
				}
				if r.Word == "suspected" {
					suspected++
				}
				// For the rules all replicas are new.
				if slices.Contains([]string{"unknown", "starting", "not_ready", "draining"}, r.State) {
					excused++
				}
				code, _ := plainText(
					t,
					base+"/-/replicas/"+url.PathEscape(r.PoolID)+"/"+url.PathEscape(r.ReplicaID)+"/ready",
				)
				require.Equal(
					t,
					serves,
					code == http.StatusOK,
					"%s: %s, and its probe says %d",
					r.ReplicaID,
					r.Word,
					code,
				)
				_, page := plainText(t, base+"/replica?target="+url.QueryEscape(key(r)))
				require.Contains(t, page, r.ReplicaID+" "+r.Word, "its page has the same state")
				require.Contains(t, targets, " "+r.ReplicaID+" http://gpu:8002/metrics "+r.Word+" ")
			}
			require.Equal(t, serving, fleet.Pools[0].Serving)
			count := fmt.Sprintf("%d of %d ", serving, len(fleet.Replicas))
			if serving < len(fleet.Replicas) {
				require.True(
					t,
					strings.HasPrefix(fleet.Summary.Sentence, count+"replicas serve: "),
					fleet.Summary.Sentence,
				)
			}
			for name, text := range map[string]string{"/": "", "/targets": "", "top": Once(fleet, Choice{}, 0)} {
				if text == "" {
					_, text = plainText(t, base+name)
				}
				require.Contains(t, text, fleet.Summary.Sentence, name)
				require.Contains(t, text, count+"serving", name)
				if name != "/targets" {
					require.Contains(t, text, fleet.Pools[0].Objectives[0].Text, name)
				}
			}
			_, metrics := raw(t, base+"/metrics")
			pool := &fleet.Pools[0]
			tests = append(tests, testRules(t, scenario.Name, metrics, counts{
				float64(pool.Replicas), float64(serving), float64(excused), float64(suspected),
				float64(pool.Saturated),
			}))
		})
	}
	requireRules(t, tests)
}

// played returns a store with a replica of every kind of server, judged at the end of a
// scenario.
func played(t *testing.T, scenario *matrix.Scenario) *snapshot.Store {
	t.Helper()
	store, now := snapshot.NewStore(), time.Now()
	for _, server := range matrix.Servers() {
		seen, err := matrix.Play(&server, scenario)
		require.NoError(t, err)
		last, health, success := &seen[len(seen)-1], target.HealthUp, now
		if !scenario.Pages[len(seen)-1].Scrape.OK {
			health, success = target.HealthDown, now.Add(-time.Hour)
		}
		slot, err := store.Add(&target.Target{
			PoolID:     "pool",
			ReplicaID:  strings.ReplaceAll(server.Name, " ", "-"),
			Engine:     string(server.Kind),
			MetricsURL: "http://gpu:8002/metrics",
			Interval:   time.Minute,
			Timeout:    time.Second,
		})
		require.NoError(t, err)
		slot.Publish(snapshot.Snapshot{Derived: series(slot.Target(), last), Status: target.Status{
			Scraping: target.Scraping{Health: health, LastScrape: now, LastSuccess: success},
			Assessment: target.Assessment{
				State: string(
					last.State,
				), StateReason: last.Reason, Severity: string(last.Severity), Runbook: last.Runbook,
				Suspected: last.Suspected, StateSince: now,
				Judged: last.Probes.Judged, ProbeReady: last.Probes.Ready, ProbeLive: last.Probes.Live,
			},
		}})
	}
	return store
}

// series returns the series that surfaces use for state and load.
func series(of *target.Target, seen *matrix.Result) *exposition.Block {
	all, metadata := exposition.NewValues(nil), assess.Metadata()
	oneIf := map[bool]float64{true: 1}
	id := labels.FromStrings("pool_id", of.PoolID, "replica_id", of.ReplicaID, "engine", of.Engine)
	for _, state := range assess.States() {
		all.Add(
			metadata["llm_server_state"],
			oneIf[state == seen.State],
			id,
			labels.Label{Name: "state", Value: string(state)},
		)
	}
	all.Add(metadata["llm_server_serving"], oneIf[assess.Serves(seen.State, seen.Probes.Ready)], id)
	all.Add(metadata["llm_server_suspected"], oneIf[seen.Suspected], id)
	if n, ok := seen.Value("saturated"); ok {
		all.Add(metadata["llm_server_saturated"], oneIf[n > 0], id, labels.Label{Name: "model_id", Value: "m"})
	}
	return all.Block()
}

// served returns the address of status pages for a store.
func served(t *testing.T, store *snapshot.Store) string {
	t.Helper()
	s, err := web.New(t.Context(), web.Options{
		ListenAddresses: []string{
			"127.0.0.1:0",
		}, Store: store, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Configuration: web.Configuration{
			Exposition: func() exposition.Config { return exposition.DefaultConfig },
			Pools: func() map[string]web.PoolConfig {
				return map[string]web.PoolConfig{
					"pool": {Objectives: []web.Objective{{Name: "ttft", Goal: 0.95, Within: 2}}},
				}
			},
		},
		Probes:   web.Probes{Readiness: func(context.Context, string) (ready, known bool) { return false, false }},
		Searches: func() []target.PoolDiscovery { return nil },
		Ready:    func() bool { return true },
	})
	require.NoError(t, err)
	s.Close()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// plainText returns a response without markup.
func plainText(t *testing.T, address string) (code int, text string) {
	t.Helper()
	code, body := raw(t, address)
	page := regexp.MustCompile(`</?(?:td|th|small|p|h2|div|li)[^>]*>`).ReplaceAllString(body, " ")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "")
	return code, strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

func raw(t *testing.T, address string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}
