package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrapeTarget is a target of the ordinary exporter: a goroutine scrapes it with net/http,
// parses the page with expfmt and adds labels, and Gather returns the last page.
type scrapeTarget struct {
	url, replica string

	mu  sync.Mutex
	all []*dto.MetricFamily
}

// serveOrdinary serves /metrics as exporters in Go usually do: prometheus.Gatherers over the
// last pages, with promhttp. It reads the addresses of targets from a reader.
func serveOrdinary(ctx context.Context, from io.Reader, address string, interval time.Duration) error {
	var all prometheus.Gatherers
	lines := bufio.NewScanner(from)
	client := &http.Client{
		Timeout:   interval,
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true},
	}
	for i := 0; lines.Scan(); i++ {
		t := &scrapeTarget{url: "http://" + lines.Text() + "/metrics", replica: replica(i)}
		all = append(all, t)
		go t.run(ctx, client, interval, time.Duration(i)*interval/1000%interval)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	//nolint:gosec // its one reader is this program.
	return fmt.Errorf("library: %w", http.ListenAndServe(address, mux))
}

// run scrapes the target periodically.
func (t *scrapeTarget) run(ctx context.Context, client *http.Client, interval, phase time.Duration) {
	if pause(ctx, phase) != nil {
		return
	}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for range ticks.C {
		if all, err := t.scrape(ctx, client); err == nil {
			t.mu.Lock()
			t.all = all
			t.mu.Unlock()
		}
	}
}

// scrape returns a page.
func (t *scrapeTarget) scrape(ctx context.Context, client *http.Client) ([]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, err
	}
	all := make([]*dto.MetricFamily, 0, len(byName))
	for _, family := range byName {
		for _, m := range family.Metric {
			t.label(m)
		}
		all = append(all, family)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

// label adds identity labels to a series.
func (t *scrapeTarget) label(m *dto.Metric) {
	for _, l := range m.Label {
		if l.GetName() == "model" {
			m.Label = append(m.Label, &dto.LabelPair{Name: new("model_id"), Value: l.Value})
			break
		}
	}
	for _, l := range [][2]string{
		{"engine", "triton"},
		{"engine_version", "2.51.0"},
		{"trtllm_version", "0.14.0"},
		{"pool_id", "bench"},
		{"replica_id", t.replica},
	} {
		m.Label = append(m.Label, &dto.LabelPair{Name: new(l[0]), Value: new(l[1])})
	}
	slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
}

// Gather returns the last page.
func (t *scrapeTarget) Gather() ([]*dto.MetricFamily, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all, nil
}
