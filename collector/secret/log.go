package secret

import (
	"context"
	"log/slog"
)

// Handler returns a log handler that hides secrets in messages and attributes before next gets them.
func (s *Store) Handler(next slog.Handler) slog.Handler { return &handler{next, s} }

type handler struct {
	next  slog.Handler
	store *Store
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.store.empty() {
		return h.next.Handle(ctx, r)
	}
	hidden := slog.NewRecord(r.Time, r.Level, h.store.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		hidden.AddAttrs(h.hide(a))
		return true
	})
	return h.next.Handle(ctx, hidden)
}

// hide hides secrets in an attribute. Numbers and times are the exporter's own.
func (h *handler) hide(a slog.Attr) slog.Attr {
	switch a.Value = a.Value.Resolve(); a.Value.Kind() { //nolint:exhaustive // See above.
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, h.store.Hide(a.Value.String()))
	case slog.KindGroup:
		members := a.Value.Group()
		all := make([]slog.Attr, len(members))
		for i, m := range members {
			all[i] = h.hide(m)
		}
		a.Value = slog.GroupValue(all...)
	}
	return a
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = h.hide(a)
	}
	return &handler{h.next.WithAttrs(all), h.store}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.store}
}
