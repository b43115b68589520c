package web

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// ownPage turns the metrics of the exporter's own process into a block like that of a target. The
// block merges with families of the same name that targets have, such as process_* of Python
// servers; text appended to the page would repeat the family.
type ownPage struct {
	gatherer prometheus.Gatherer
	logger   *slog.Logger

	mu    sync.Mutex
	cache *exposition.Cache
}

func newOwnPage(gatherer prometheus.Gatherer, logger *slog.Logger) *ownPage {
	return &ownPage{gatherer: gatherer, logger: logger, cache: exposition.NewCache(exposition.Options{})}
}

// block returns the current metrics; nil when they cannot be read, which is a bug and does not
// affect the targets.
func (o *ownPage) block() *exposition.Block {
	o.mu.Lock()
	defer o.mu.Unlock()
	families, err := o.gatherer.Gather()
	var text bytes.Buffer
	for _, family := range families {
		_, e := expfmt.MetricFamilyToText(&text, family)
		err = cmp.Or(err, e)
	}
	b, e := o.cache.Parse(text.Bytes(), "")
	if err = cmp.Or(e, err); err != nil {
		o.logger.Error("Own metrics are incomplete", "err", err)
	}
	return b
}

type metrics struct {
	requests  *prometheus.CounterVec
	aborted   prometheus.Counter
	panics    prometheus.Counter
	pageBytes prometheus.Gauge
	buildTime prometheus.Histogram
	conflicts *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: selfmetrics.HTTPRequests.NewCounterVec(), aborted: selfmetrics.HTTPAborted.NewCounter(), panics: selfmetrics.HTTPPanics.NewCounter(),
		pageBytes: selfmetrics.PageBytes.NewGauge(),
		buildTime: selfmetrics.PageBuildTime.NewHistogram(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
		conflicts: selfmetrics.MetadataConflicts.NewGaugeVec(),
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.aborted, m.panics, m.pageBytes, m.buildTime, m.conflicts,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of the web server: %w", err)
		}
	}
	m.merged(exposition.MergeStats{})
	return m, nil
}

func (m *metrics) merged(s exposition.MergeStats) {
	m.conflicts.WithLabelValues(exposition.ConflictHelp).Set(float64(s.HelpConflicts))
	m.conflicts.WithLabelValues(exposition.ConflictType).Set(float64(s.TypeConflicts))
	m.conflicts.WithLabelValues(exposition.ConflictUnit).Set(float64(s.UnitConflicts))
}
