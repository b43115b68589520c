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

// reports are what is known of each source. Prometheus' discoverers say only in
// the log how they failed, so that their log is read.
type reports struct {
	mu  sync.Mutex
	all []target.Source
	// failing says of each source that it failed since it answered.
	failing []bool
}

// add begins the report of a source and returns its place.
func (r *reports) add(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all, r.failing = append(r.all, target.Source{Key: key}), append(r.failing, false)
	return len(r.all) - 1
}

// answered notes that a source answered just now, and how many targets it knows;
// again is true when it failed before.
func (r *reports) answered(i, targets int) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[i].Targets, r.all[i].LastSuccess = targets, time.Now()
	again, r.failing[i] = r.failing[i], false
	return again
}

// failed notes that a source failed just now, and reports whether that is news for
// the log: a source that goes on failing in the same way is none.
func (r *reports) failed(i int, text string) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news = !r.failing[i] || r.all[i].LastError != text
	r.all[i].LastError, r.all[i].LastErrorAt, r.failing[i] = text, time.Now(), true
	return news
}

// Sources are what is known of the pool's sources at the moment, all static
// targets together as the first.
func (m *Manager) Sources() []target.Source {
	m.reports.mu.Lock()
	defer m.reports.mu.Unlock()
	var all []target.Source
	if len(m.static) > 0 {
		static := target.Source{Key: "static_configs", Targets: countTargets(slices.Values(m.static))}
		if s := m.status.Load(); s != nil {
			static.LastSuccess = m.began
		}
		all = append(all, static)
	}
	return append(all, m.reports.all...)
}

// witness passes a log on, notes the errors in it, and leaves out those that are
// no news.
type witness struct {
	slog.Handler

	note func(text string) (news bool)
}

// Enabled also takes errors that nobody logs.
func (w *witness) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || w.Handler.Enabled(ctx, level)
}

// Handle notes an error and passes the record on, unless it is no news.
func (w *witness) Handle(ctx context.Context, r slog.Record) error {
	said, err := slog.NewRecord(r.Time, r.Level, target.Scrub(r.Message), r.PC), ""
	r.Attrs(func(a slog.Attr) bool {
		a = scrubbed(a)
		said.AddAttrs(a)
		if a.Key == "err" || a.Key == "error" {
			err = a.Value.String()
		}
		return true
	})
	if r.Level >= slog.LevelWarn {
		text := strings.TrimSuffix(said.Message+": "+err, ": ")
		// This says of every failed refresh the same.
		text = strings.TrimPrefix(text, "Unable to refresh target groups: ")
		if !w.note(strings.Join(strings.Fields(text), " ")) {
			return nil
		}
	}
	if !w.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return w.Handler.Handle(ctx, said)
}

// scrubbed is an attribute without what URLs in it may hold of secrets.
func scrubbed(a slog.Attr) slog.Attr {
	if kind := a.Value.Kind(); kind == slog.KindString || kind == slog.KindAny {
		return slog.String(a.Key, target.Scrub(a.Value.String()))
	}
	return a
}

// WithAttrs implements slog.Handler.
func (w *witness) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = scrubbed(a)
	}
	return &witness{w.Handler.WithAttrs(all), w.note}
}

// WithGroup implements slog.Handler.
func (w *witness) WithGroup(name string) slog.Handler {
	return &witness{w.Handler.WithGroup(name), w.note}
}
