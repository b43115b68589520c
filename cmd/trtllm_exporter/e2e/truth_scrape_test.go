//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"
)

// reading is what the exporter's page said of one replica after one scrape.
type reading struct {
	// scraped is when the server's page came, or up to within later.
	scraped time.Time
	within  time.Duration
	// values are by name and, after a slash, the reason or the model.
	values map[string]float64
}

// watch reads the exporter's page until it is stopped and keeps one reading of
// each scrape of each replica.
type watch struct {
	mu       sync.Mutex
	readings map[string][]reading
	problem  error
	stop     func()
	exporter *exporter
}

// watchFromTheFirst starts exporters until one's first scrape, where windows begin, was seen.
func watchFromTheFirst(t *testing.T, config string, replicas int) *watch {
	t.Helper()
	for range 5 {
		e := launchExporter(t, nil, exporterBinary(t), "--config.file", configFile(t, config))
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

// Scrapes come once a second, the second one sooner; none may be missed.
const (
	readFirst = 20 * time.Millisecond
	readEvery = 250 * time.Millisecond
)

func startWatch(t *testing.T, e *exporter, replicas int) *watch {
	t.Helper()
	w := &watch{readings: map[string][]reading{}, exporter: e}
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

// begun returns the number of replicas with two readings, and whether the first
// of each was its first scrape.
func (w *watch) begun() (replicas int, whole bool) {
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

// read takes what is derived, and when it was scraped, from a page.
func (w *watch) read(body []byte) error {
	found, err := byReplica(body)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for replica, values := range found {
		ended, took := values["trtllm_exporter_target_last_success_timestamp_seconds"], values["trtllm_exporter_target_scrape_duration_seconds"]
		if ended == 0 || values["trtllm_exporter_target_up"] != 1 {
			continue
		}
		// A scrape is over when all is derived, the first also when the server
		// has said who it is; the page came at its beginning.
		scraped := time.UnixMicro(int64((ended - took) * 1e6))
		before := w.readings[replica]
		if len(before) > 0 && values["trtllm_exporter_target_scrapes_total"] == before[len(before)-1].values["trtllm_exporter_target_scrapes_total"] {
			continue
		}
		w.readings[replica] = append(before, reading{scraped, time.Duration(took * float64(time.Second)), values})
	}
	return nil
}

// byReplica returns the derived values of a page, and the exporter's own, by
// replica; the rest is skipped unread.
func byReplica(body []byte) (map[string]map[string]float64, error) {
	found := map[string]map[string]float64{}
	parser := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		series, _, value := parser.Series()
		if !bytes.HasPrefix(series, []byte("llm_server_")) && !bytes.HasPrefix(series, []byte("trtllm_exporter_target_")) {
			continue
		}
		var l labels.Labels
		parser.Labels(&l)
		replica := l.Get("replica_id")
		if found[replica] == nil {
			found[replica] = map[string]float64{}
		}
		found[replica][seriesKey(l)] = value
	}
}

// seriesKey returns the name under which a reading has a series.
func seriesKey(l labels.Labels) string {
	parts := []string{l.Get(model.MetricNameLabel)}
	for _, by := range []string{"model", "reason", "class"} {
		if v := l.Get(by); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "/")
}

// of returns the readings of a replica; they have to be there for every second.
func (w *watch) of(t *testing.T, replica string, atLeast int) []reading {
	t.Helper()
	w.stop()
	require.NoError(t, w.problem)
	require.GreaterOrEqual(t, len(w.readings[replica]), atLeast, "scrapes of %s that were seen", replica)
	return w.readings[replica]
}

func (r reading) value(t *testing.T, name string) float64 {
	t.Helper()
	v, there := r.values["llm_server_"+name]
	require.True(t, there, "llm_server_%s is not on the page of %s", name, r.scraped)
	return v
}

// requireAbsent requires that nothing of that name is derived of the model, of
// all models when it is empty.
func (r reading) requireAbsent(t *testing.T, prefix, of, why string) {
	t.Helper()
	for series := range r.values {
		parts := strings.Split(series, "/")
		looked := of == "" || slices.Contains(parts[1:], of)
		require.False(t, looked && strings.HasPrefix(parts[0], "llm_server_"+prefix), "%s is on the page: %s", series, why)
	}
}

// windowOf returns the first reading of the window that ends with reading n: no
// further back than the window is long, and not before the first.
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
