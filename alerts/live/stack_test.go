//go:build e2e_live

package live

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// alert is an alert as sent by Alertmanager to a webhook.
type alert struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// Receiver and time of the notification.
	receiver   string
	receivedAt time.Time
}

// String names an alert for messages.
func (a alert) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s of %s %s (%s): %s", a.Status, a.Labels["alertname"],
		a.Labels["pool_id"], a.Labels["replica_id"], a.Labels["severity"], a.Annotations["description"]))
}

// webhook records every alert that it receives.
type webhook struct {
	mu     sync.Mutex
	alerts []alert
}

// ServeHTTP implements http.Handler.
func (w *webhook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []alert `json:"alerts"`
	}
	if json.NewDecoder(r.Body).Decode(&message) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range message.Alerts {
		a.receiver, a.receivedAt = strings.TrimPrefix(r.URL.Path, "/"), time.Now()
		w.alerts = append(w.alerts, a)
	}
}

// received returns received alerts with a status, a name and pairs of labels.
func (w *webhook) received(status, name string, pairs ...string) (found []alert) {
	for _, a := range w.all() {
		if a.Status == status && a.Labels["alertname"] == name && has(a.Labels, pairs) {
			found = append(found, a)
		}
	}
	return found
}

// all returns all received messages.
func (w *webhook) all() []alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.alerts)
}

// stack holds all running programs.
type stack struct {
	fleet                              *simulate.Fleet
	exporter, prometheus, alertmanager string
	hook                               *webhook
	// api is a client of the API of Prometheus.
	api v1.API
	// process holds the exporters, the first at the address above, and Prometheus.
	process struct {
		exporters  []*process
		prometheus *process
	}
}

// exporter defines how an exporter is started, and its configuration; without one it brings
// its own fleet, like the demo. Prometheus gives it the label of a cluster, if that has a name.
type exporter struct {
	command []string
	config  func(*simulate.Fleet) string
	cluster string
}

func serving(config func(*simulate.Fleet) string, flags ...string) exporter {
	return exporter{command: append([]string{"serve"}, flags...), config: config}
}

// setting defines the fleet, the exporters, and deviations from the shipped files.
type setting struct {
	// exporters scrape the fleet, as a single one, a pair, shards or sidecars, and are
	// scraped by Prometheus.
	fleet     simulate.FleetSpec
	exporters []exporter
	// values configures the shipped rules; rules is appended to them.
	values alerts.Values
	rules  string
	// Pairs of texts to replace in the configurations.
	prometheus, alertmanager []string
}

// startStack starts all parts with the shipped configurations.
func startStack(t *testing.T, set setting) *stack {
	t.Helper()
	binary := fixture.Program(t, "trtllm_exporter")
	prometheus, alertmanager := fixture.Program(t, "prometheus"), fixture.Program(t, "alertmanager")
	fleet, err := simulate.StartFleet(t.Context(), set.fleet)
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	s := &stack{
		fleet:        fleet,
		prometheus:   fixture.FreeAddress(t, "127.0.0.1"),
		alertmanager: fixture.FreeAddress(t, "127.0.0.1"),
		hook:         &webhook{},
	}
	// Prometheus is stopped at times, and then answers on no connection that was open.
	client, err := api.NewClient(api.Config{
		Address:      "http://" + s.prometheus,
		RoundTripper: &http.Transport{DisableKeepAlives: true},
	})
	require.NoError(t, err)
	s.api = v1.NewAPI(client)
	hook := httptest.NewServer(s.hook)
	t.Cleanup(hook.Close)

	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	var scraped []string
	for i, e := range set.exporters {
		// While an exporter is stopped, other tests may take free ports of 127.0.0.1.
		address := fixture.FreeAddress(t, "127.0.0.2")
		if i == 0 {
			s.exporter = address
		}
		scraped = append(scraped, fmt.Sprintf("- { targets: [%q], labels: { cluster: %q } }", address, e.cluster))
		command := append(slices.Clone(e.command), "--web.listen-address="+address)
		if e.config != nil {
			command = append(command, "--config.file="+write(fmt.Sprintf("exporter%d.yml", i), e.config(fleet)))
		}
		s.process.exporters = append(s.process.exporters, start(t, binary, command...))
	}

	rules, err := alerts.Render(set.values)
	require.NoError(t, err)
	write("rules.yml", string(rules)+set.rules)
	prometheusConfig := shipped(t, "prometheus.yml",
		append(set.prometheus, "127.0.0.1:9093", s.alertmanager,
			`- targets: ["127.0.0.1:9802"]`, strings.Join(scraped, "\n      "))...)
	s.process.prometheus = start(t, prometheus,
		"--config.file="+write("prometheus.yml", prometheusConfig),
		"--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+s.prometheus,
		"--log.level=warn")
	alertmanagerConfig := shipped(t, "alertmanager.yml", append(set.alertmanager, "http://127.0.0.1:9095", hook.URL)...)
	start(t, alertmanager,
		"--config.file="+write("alertmanager.yml", alertmanagerConfig),
		"--storage.path="+filepath.Join(dir, "am"),
		"--web.listen-address="+s.alertmanager,
		"--cluster.listen-address=",
		"--log.level=warn")
	for _, ready := range []string{s.exporter, s.prometheus, s.alertmanager} {
		within(t, patience, ready+" is ready", func() bool {
			_, err := fetch(t.Context(), "http://"+ready+"/-/ready")
			return err == nil
		})
	}
	return s
}

// shipped returns a file of the project with pairs of texts replaced, all of which must
// occur.
func shipped(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	require.NoError(t, err)
	out := string(text)
	for i := 0; i+1 < len(pairs); i += 2 {
		require.Contains(t, out, pairs[i])
		out = strings.ReplaceAll(out, pairs[i], pairs[i+1])
	}
	return out
}

// shippedValues returns the shipped thresholds for scrapes in an interval.
func shippedValues(t *testing.T, interval time.Duration) alerts.Values {
	t.Helper()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	if interval != 0 {
		v["scrape_interval"] = interval.String()
	}
	v["exporter"] = "http://exporter.example:9802"
	return v
}

// values returns the shipped thresholds with short times.
func values(t *testing.T) alerts.Values {
	t.Helper()
	v := shippedValues(t, 0)
	for key := range v {
		switch {
		case key == "evaluation_interval":
			v[key] = "1s"
		case key == "keep_firing_for":
			// A restarted exporter needs a window to detect a hang.
			v[key] = "45s"
		case strings.HasSuffix(key, "_for"):
			// Longer than a scrape, so that a delayed scrape does not count.
			v[key] = "4s"
		}
	}
	for key, value := range map[string]string{
		"scrape_interval":        "2500ms",
		"saturation_window":      "10s",
		"scrape_failures_window": "15s",
		"replica_suspected_for":  "1m",
		"skew_window":            "5s",
		"slo_fast_new":           "5s",
		"slo_new_window":         "30s",
		"slo_slow_new":           "10s",
		"errors_window":          "10s",
		"slo_fast_short":         "5s",
		"slo_fast_long":          "15s",
		"slo_medium_short":       "10s",
		"slo_medium_long":        "20s",
		"slo_slow_long":          "30s",
		"slo_slow_interval":      "2s",
		"slo_budget_interval":    "3s",
		"panel_slow_interval":    "2s",
	} {
		require.Contains(t, v, key)
		v[key] = value
	}
	return v
}

// replicas returns the number of replicas of the fleet.
func (s *stack) replicas() (n int) {
	for _, pool := range s.fleet.Pools() {
		n += len(pool.Replicas)
	}
	return n
}

// awaitReady waits until the exporters show this number of ready replicas.
func (s *stack) awaitReady(t *testing.T, replicas int, limit time.Duration) {
	t.Helper()
	await(t, limit, func() string {
		found := s.query(t, `sum(llm_server_state{state="ready"})`)
		if len(found) == 1 && int(found[0].Value) == replicas {
			return ""
		}
		return fmt.Sprintf("ready replicas: wanted %d, got %v", replicas, found)
	})
}

// query queries Prometheus for current values, without those that are not a number.
func (s *stack) query(t *testing.T, expr string) model.Vector {
	t.Helper()
	found, _, _, err := s.api.Query(t.Context(), expr, time.Time{})
	require.NoError(t, err, expr)
	require.IsType(t, model.Vector{}, found, expr)
	notNumber := func(x *model.Sample) bool { return math.IsNaN(float64(x.Value)) }
	return slices.DeleteFunc(found.(model.Vector), notNumber)
}

// queryRange queries Prometheus for values over time, at whole seconds.
func (s *stack) queryRange(
	t *testing.T, expr string, length time.Duration, end time.Time, step time.Duration,
) model.Matrix {
	t.Helper()
	end = end.Truncate(time.Second)
	found, _, _, err := s.api.QueryRange(t.Context(), expr, v1.Range{Start: end.Add(-length), End: end, Step: step})
	require.NoError(t, err, expr)
	require.IsType(t, model.Matrix{}, found, expr)
	return found.(model.Matrix)
}

// rules returns the queries of the recording rules in Prometheus by name, and which rules it could not evaluate.
func (s *stack) rules(t *testing.T) (recorded map[string]string, unhealthy []string) {
	t.Helper()
	found, err := s.api.Rules(t.Context(), nil)
	require.NoError(t, err)
	recorded = make(map[string]string)
	note := func(name string, health v1.RuleHealth, failure string) {
		if health != v1.RuleHealthGood {
			unhealthy = append(unhealthy, fmt.Sprintf("%s is %s: %s", name, health, failure))
		}
	}
	for _, g := range found.Groups {
		for _, r := range g.Rules {
			switch r := r.(type) {
			case v1.RecordingRule:
				recorded[r.Name] += " " + r.Query
				note(r.Name, r.Health, r.LastError)
			case v1.AlertingRule:
				note(r.Name, r.Health, r.LastError)
			}
		}
	}
	require.NotEmpty(t, recorded)
	return recorded, unhealthy
}

// requireHealthyRules requires that Prometheus could evaluate every rule.
func (s *stack) requireHealthyRules(t *testing.T) {
	t.Helper()
	_, unhealthy := s.rules(t)
	require.Empty(t, unhealthy)
}
