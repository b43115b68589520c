package web

import (
	"bytes"
	"cmp"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// ownPage turns the metrics of the exporter's own process into a block like that of a target. The
// block merges with families of the same name that targets have, such as process_* of Python
// servers; text appended to the page would repeat the family.
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

// block returns the metrics of this moment; nil when they cannot be read, which is a bug and does
// not affect the targets. The first of consecutive errors is logged.
func (o *ownPage) block() *exposition.Block {
	o.mu.Lock()
	defer o.mu.Unlock()
	families, err := o.gatherer.Gather()
	o.text.Reset()
	for _, family := range families {
		_, e := expfmt.MetricFamilyToText(&o.text, family)
		err = cmp.Or(err, e)
	}
	b, e := o.cache.Parse(o.text.Bytes(), "")
	if err = cmp.Or(e, err); err != nil && !o.failed {
		o.logger.Error("Own metrics are incomplete", "err", err)
	}
	o.failed = err != nil
	if e != nil {
		return nil
	}
	return b
}
