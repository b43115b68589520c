package web

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

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
	// names are the families that were gathered last, at that time.
	names []string
	at    time.Time
}

// namesKept is how long it is believed that there are no other own families
// than were gathered last. Gathering is most of what a read of a few families
// costs, and pickers of replicas read some twenty times a second.
const namesKept = time.Second

func newOwnPage(gatherer prometheus.Gatherer, logger *slog.Logger) *ownPage {
	return &ownPage{gatherer: gatherer, logger: logger, cache: exposition.NewCache(exposition.Options{})}
}

// block gives the metrics of this moment for a page of the wanted families, of
// all where none is named. It is nil when it has no part in such a page, and when
// nothing can be gathered, which is a bug and costs the targets nothing.
func (o *ownPage) block(wanted []string) *exposition.Block {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) < namesKept && !o.concerns(wanted) {
		return nil
	}
	b := o.gather()
	if b != nil && !o.concerns(wanted) {
		return nil
	}
	return b
}

// concerns reports whether own families, or samples of them, may be among the wanted.
func (o *ownPage) concerns(wanted []string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(name string) bool {
		return slices.ContainsFunc(o.names, func(own string) bool {
			return strings.HasPrefix(name, own) || strings.HasPrefix(own, name)
		})
	})
}

// gather makes a block of the metrics of this moment.
func (o *ownPage) gather() *exposition.Block {
	families, err := o.gatherer.Gather()
	o.at, o.names = time.Now(), o.names[:0]
	o.text.Reset()
	for _, family := range families {
		o.names = append(o.names, family.GetName())
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
