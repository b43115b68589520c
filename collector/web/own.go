package web

import (
	"bytes"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// ownPage turns the metrics of the exporter's own process into a block like
// any target's. So they merge with families of the same name that targets
// have (process_* of Python servers), where text put behind the page would
// name a family twice.
type ownPage struct {
	gatherer prometheus.Gatherer
	logger   *slog.Logger

	mu     sync.Mutex
	cache  *exposition.Cache
	text   bytes.Buffer
	failed bool
}

func newOwnPage(gatherer prometheus.Gatherer, logger *slog.Logger) *ownPage {
	return &ownPage{gatherer: gatherer, logger: logger, cache: exposition.NewCache(exposition.Options{})}
}

// block gives the metrics of this moment; nil when nothing can be gathered, which is
// a bug and costs the targets nothing.
func (o *ownPage) block() *exposition.Block {
	o.mu.Lock()
	defer o.mu.Unlock()
	families, err := o.gatherer.Gather()
	o.text.Reset()
	for _, family := range families {
		if _, e := expfmt.MetricFamilyToText(&o.text, family); e != nil && err == nil {
			err = e
		}
	}
	b, e := o.cache.Parse(o.text.Bytes(), "")
	if e != nil {
		o.report(e)
		return nil
	}
	o.report(err)
	return b
}

// report logs the first of a row of failures.
func (o *ownPage) report(err error) {
	if err != nil && !o.failed {
		o.logger.Error("Own metrics are incomplete", "err", err)
	}
	o.failed = err != nil
}
