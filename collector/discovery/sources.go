package discovery

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// reports holds the state of each source. Prometheus' discoverers report errors only in their
// log, from which errorRecorder takes them.
type reports struct {
	mu  sync.Mutex
	all []target.Source
}

// answered records an answer of a source with the number of targets, and reports whether the
// source had failed before.
func (r *reports) answered(i, targets int) (recovered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recovered = failing(&r.all[i])
	r.all[i].Targets, r.all[i].LastSuccess = targets, time.Now()
	return recovered
}

// failing reports whether a source has failed since its last answer.
func failing(s *target.Source) bool {
	return !s.LastErrorAt.IsZero() && !s.LastErrorAt.Before(s.LastSuccess)
}

// waits reports whether a source has never answered.
func (r *reports) waits(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[i].LastSuccess.IsZero()
}

// unsynced ends the message of a source in Kubernetes that ends before it could list.
const unsynced = "informer unable to sync cache"

// failed records a failure of a source, and reports whether to log it, which is not the case for
// a repeated one.
func (r *reports) failed(i int, text string) (log bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.all[i]
	if strings.HasSuffix(text, unsynced) && failing(s) {
		return false // The client has said why.
	}
	log = !failing(s) || s.LastError != text
	s.LastError, s.LastErrorAt = text, time.Now()
	return log
}

// Sources returns the state of the pool's sources. All static targets are the first source.
func (m *Manager) Sources() []target.Source {
	m.reports.mu.Lock()
	defer m.reports.mu.Unlock()
	var all []target.Source
	if len(m.static) > 0 {
		static := target.Source{Key: "static_configs", Targets: countTargets(slices.Values(m.static))}
		if s := m.status.Load(); s != nil {
			static.LastSuccess = s.first
		}
		all = append(all, static)
	}
	return append(all, m.reports.all...)
}

// errorRecorder is a log handler that records errors and drops repeated ones.
type errorRecorder struct {
	slog.Handler

	record func(text string) (log bool)
	// hide removes what is secret from a text.
	hide func(text string) string
}

// Enabled implements slog.Handler. Errors are recorded even if they are not logged.
func (h *errorRecorder) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

func (h *errorRecorder) Handle(ctx context.Context, r slog.Record) error {
	scrubbed, err := slog.NewRecord(r.Time, r.Level, h.hide(r.Message), r.PC), ""
	r.Attrs(func(a slog.Attr) bool {
		a = h.scrub(a)
		scrubbed.AddAttrs(a)
		if a.Key == "err" || a.Key == "error" {
			err = a.Value.String()
		}
		return true
	})
	if r.Level >= slog.LevelWarn {
		text := strings.TrimSuffix(scrubbed.Message+": "+err, ": ")
		// Every failed refresh, and every failed list, begins with one of these.
		text = strings.TrimPrefix(text, "Unable to refresh target groups: ")
		text = strings.TrimPrefix(text, "Failed to watch: ")
		text = strings.TrimPrefix(text, "watch-list failed - backing off: ")
		if !h.record(inWords(strings.Join(strings.Fields(text), " "))) {
			return nil
		}
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, scrubbed)
}

// scrub removes what is secret from an attribute.
func (h *errorRecorder) scrub(a slog.Attr) slog.Attr {
	if kind := a.Value.Kind(); kind == slog.KindString || kind == slog.KindAny {
		return slog.String(a.Key, h.hide(a.Value.String()))
	}
	return a
}

func (h *errorRecorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = h.scrub(a)
	}
	return &errorRecorder{h.Handler.WithAttrs(all), h.record, h.hide}
}

func (h *errorRecorder) WithGroup(name string) slog.Handler {
	return &errorRecorder{h.Handler.WithGroup(name), h.record, h.hide}
}
