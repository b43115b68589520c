package discovery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// clientFailures counts the failures of one source in Kubernetes. Its client logs them to the one
// log that it has in a process; which source failed shows only in the count, which rises first.
type clientFailures struct {
	registry *prometheus.Registry

	mu    sync.Mutex
	heard float64
}

// newClientFailures returns the failures of a source, nil if it is not in Kubernetes.
func newClientFailures(b *block) *clientFailures {
	if b.config.Name() != "kubernetes" {
		return nil
	}
	return &clientFailures{registry: prometheus.NewRegistry()}
}

// count returns the number of failures so far.
func (f *clientFailures) count() (n float64) {
	families, _ := f.registry.Gather()
	for _, family := range families {
		if family.GetName() != "prometheus_sd_kubernetes_failures_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			n += metric.GetCounter().GetValue()
		}
	}
	return n
}

// rose reports whether the source has failed since the last call.
func (f *clientFailures) rose() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.heard
	f.heard = f.count()
	return f.heard > before
}

// listeners holds the running managers that hear the log of the Kubernetes client.
var listeners = struct { //nolint:gochecknoglobals // The client has one log in a process.
	mu  sync.Mutex
	all map[*Manager]bool
}{all: map[*Manager]bool{}}

// hearClient lets the manager hear what the Kubernetes client logs, until the returned function is
// called.
func (m *Manager) hearClient() (stop func()) {
	if !slices.ContainsFunc(m.sources, func(s source) bool { return s.client != nil }) {
		return func() {}
	}
	listeners.mu.Lock()
	defer listeners.mu.Unlock()
	listeners.all[m] = true
	return func() {
		listeners.mu.Lock()
		defer listeners.mu.Unlock()
		delete(listeners.all, m)
	}
}

// clientLog is the log of the Kubernetes client.
type clientLog struct{ slog.Handler }

// KubernetesLog returns a handler for the log of the Kubernetes client: an error of a source is
// reported as that of the source, everything else goes to next.
func KubernetesLog(next slog.Handler) slog.Handler { return &clientLog{next} }

// levelRetries is the level at which the client logs that nothing listens at the address of the
// API server, or that it is asked too often. It does not count these as failures.
const levelRetries slog.Level = -2

// Enabled implements slog.Handler. Errors are heard even if they are not logged.
func (h *clientLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= levelRetries || h.Handler.Enabled(ctx, level)
}

func (h *clientLog) Handle(ctx context.Context, r slog.Record) error {
	if reportClientError(r) || !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *clientLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &clientLog{h.Handler.WithAttrs(attrs)}
}

func (h *clientLog) WithGroup(name string) slog.Handler {
	return &clientLog{h.Handler.WithGroup(name)}
}

// adviceRights is what to do where the API server refuses to list.
const adviceRights = "; grant the account get, list and watch (in the chart: rbac.create=true)"

// reportClientError reports an error to the sources that have just failed, and whether there are
// any. An error that the client does not count is reported to the sources that still wait; it
// names the address.
func reportClientError(r slog.Record) (heard bool) {
	text := clientError(r)
	if text == "" {
		return false
	}
	listeners.mu.Lock()
	running := slices.Collect(maps.Keys(listeners.all))
	listeners.mu.Unlock()
	for _, m := range running {
		for i, s := range m.sources {
			if s.client == nil {
				continue
			}
			failed := r.Level >= slog.LevelError && s.client.rose()
			if failed || r.Level == levelRetries && m.reports.waits(i) {
				m.sourceLogger(i, s.key).Error(r.Message, "err", text) //nolint:sloglint // The words of the client.
				heard = true
			}
		}
	}
	return heard
}

// clientError returns the error of a log record with what to do about it, empty if it has none.
func clientError(r slog.Record) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			text = a.Value.String()
		}
		return text == ""
	})
	if strings.Contains(text, " is forbidden: ") {
		text += adviceRights
	}
	return text
}
