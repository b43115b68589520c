//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// reading holds the values of one replica on the exporter's page after one scrape.
type reading struct {
	// scraped is when the server's page arrived, or up to within later.
	scraped time.Time
	within  time.Duration
	// values are by name and, after a slash, by reason or model.
	values map[string]float64
}

// watcher reads the exporter's page until it is stopped, and keeps a reading of each scrape of each
// replica.
type watcher struct {
	mu       sync.Mutex
	readings map[string][]reading
	problem  error
	stop     func()
	exporter *exporter
}

// watchFromTheFirst starts exporters until the first scrape of one, where windows start, was
// observed.
func watchFromTheFirst(t *testing.T, config string, replicas int) *watcher {
	t.Helper()
	for range 5 {
		e := launchExporter(t, nil, exporterBinary(t), "--config.file", configFile(t, config))
		w := startWatch(t, e, replicas)
		complete := false
		within(t, patience, "the exporter has scraped twice", func() bool {
			require.False(t, e.ended(), "the exporter ended")
			seen, first := w.begun()
			complete = first
			return seen == replicas
		})
		if complete {
			return w
		}
		w.stop()
		e.kill(t)
	}
	require.FailNow(t, "the first scrapes were missed five times")
	return nil
}

// Scrapes take place every second, the second one sooner; none may be missed.
const (
	readFirst = 20 * time.Millisecond
	readEvery = 250 * time.Millisecond
)

func startWatch(t *testing.T, e *exporter, replicas int) *watcher {
	t.Helper()
	w := &watcher{readings: map[string][]reading{}, exporter: e}
	w.stop = repeat(t, 0, func(ctx context.Context) {
		_, body, err := get(ctx, e.url("/metrics"))
		if err == nil {
			err = w.read(body)
		}
		every := readEvery
		if seen, _ := w.begun(); seen < replicas {
			every, err = readFirst, nil // It may not listen yet.
		}
		if err != nil && ctx.Err() == nil {
			w.problem = err
		}
		pause(ctx, every)
	})
	return w
}

// begun returns the number of replicas with two readings, and whether the first one of each was
// its first scrape.
func (w *watcher) begun() (replicas int, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	whole = true
	for _, all := range w.readings {
		if len(all) > 1 {
			replicas++
		}
		whole = whole && all[0].values["trtllm_exporter_target_scrapes_total"] == 1
	}
	return replicas, whole
}

// read returns the derived values of a page and the times of their scrapes.
func (w *watcher) read(body []byte) error {
	found, err := byReplica(body)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for replica, values := range found {
		ended := values["trtllm_exporter_target_last_success_timestamp_seconds"]
		duration := values["trtllm_exporter_target_scrape_duration_seconds"]
		if ended == 0 || values["trtllm_exporter_target_up"] != 1 {
			continue
		}
		// A scrape ends when everything is derived, the first one also when the server is
		// identified; the page arrived at its start.
		scraped := time.UnixMicro(int64((ended - duration) * 1e6))
		const scrapes = "trtllm_exporter_target_scrapes_total"
		before := w.readings[replica]
		if len(before) > 0 && values[scrapes] == before[len(before)-1].values[scrapes] {
			continue
		}
		w.readings[replica] = append(before, reading{scraped, time.Duration(duration * float64(time.Second)), values})
	}
	return nil
}

// apiAnswers counts the answers of SGLang's API, which may do so seconds after a client has got one.
const apiAnswers = "sglang:http_responses_total"

// byReplica returns the derived values of a page, the exporter's own, and apiAnswers to requests, by replica.
func byReplica(body []byte) (map[string]map[string]float64, error) {
	p, err := parse(body)
	found := map[string]map[string]float64{}
	for _, s := range p.samples {
		name, replica := s.labels.Get(model.MetricNameLabel), s.labels.Get("replica_id")
		answers := name == apiAnswers && s.labels.Get("method") == http.MethodPost
		if !answers && !strings.HasPrefix(name, "llm_server_") && !strings.HasPrefix(name, "trtllm_exporter_target_") {
			continue
		}
		if found[replica] == nil {
			found[replica] = map[string]float64{}
		}
		if answers {
			found[replica][apiAnswers] += s.value
			continue
		}
		found[replica][seriesKey(s.labels)] = s.value
	}
	return found, err
}

// seriesKey returns the name of a series in a reading.
func seriesKey(l labels.Labels) string {
	parts := []string{l.Get(model.MetricNameLabel)}
	for _, by := range []string{"model", "reason", "class"} {
		if v := l.Get(by); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "/")
}

// reaches waits until the last reading of a replica has these values.
func (w *watcher) reaches(t *testing.T, replica string, wanted map[string]float64) {
	t.Helper()
	await(t, patience, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		all := w.readings[replica]
		var wrong []string
		for family, want := range wanted {
			if got, there := all[len(all)-1].values["llm_server_"+family]; !there || got != want {
				wrong = append(wrong, fmt.Sprintf("llm_server_%s of %s: wanted %g, got %g", family, replica, want, got))
			}
		}
		return strings.Join(wrong, "; ")
	})
}

// of returns the readings of a replica.
func (w *watcher) of(t *testing.T, replica string) []reading {
	t.Helper()
	w.stop()
	require.NoError(t, w.problem)
	return w.readings[replica]
}

func (r reading) value(t *testing.T, name string) float64 {
	t.Helper()
	v, there := r.values["llm_server_"+name]
	require.True(t, there, "llm_server_%s is not on the page of %s", name, r.scraped)
	return v
}

// requireAbsent requires that nothing with that name is derived for the model, or for all models
// if it is empty.
func (r reading) requireAbsent(t *testing.T, prefix, of, why string) {
	t.Helper()
	for series := range r.values {
		name, keys, _ := strings.Cut(series, "/")
		if of == "" || slices.Contains(strings.Split(keys, "/"), of) {
			require.False(t, strings.HasPrefix(name, "llm_server_"+prefix), "%s is on the page: %s", series, why)
		}
	}
}

// windowOf returns the first reading of the window that ends with reading n.
func windowOf(t *testing.T, all []reading, n int, length time.Duration) reading {
	t.Helper()
	for _, r := range all[:n] {
		if all[n].scraped.Sub(r.scraped) <= length {
			return r
		}
	}
	require.FailNow(t, "no window", all[n].scraped.String())
	return reading{}
}
