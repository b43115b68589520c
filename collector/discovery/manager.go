package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

const (
	// The first of several changes waits this long for the others, so that a
	// file with many groups becomes one change.
	settle = 100 * time.Millisecond
	// A source that gave up waits this long for its next attempt.
	restart = 10 * time.Second
)

// Discoverer finds groups of targets and sends them to up, all of them first
// and changed ones later, until ctx ends; a group without targets takes back
// the one of the same source. It is Prometheus' interface of the same name.
type Discoverer interface {
	Run(ctx context.Context, up chan<- []*targetgroup.Group)
}

// source is one running entry of the configuration.
type source struct {
	key        string
	discoverer Discoverer
}

// Manager finds the targets of one pool from all its sources together.
type Manager struct {
	logger *slog.Logger
	reg    prometheus.Registerer
	// The metrics of Prometheus' discoverers, from which ours are made.
	internal *prometheus.Registry
	static   []*targetgroup.Group
	sources  []source
	status   atomic.Pointer[status]
	reports  reports
	// began is when the static targets were reported; it is set before status.
	began time.Time
}

// status is what the last update said.
type status struct {
	targets int
	at      time.Time
}

// New builds the discovery of one pool from a validated configuration and reads
// what that names, such as TLS files; it starts nothing. The configuration must
// not be changed afterwards. The logger and reg are the pool's own: while
// [Manager.Run] runs it shows metrics in reg that do not name the pool, so reg
// has to, as one of [prometheus.WrapRegistererWith] does. Reg may be nil.
func New(cfg Config, logger *slog.Logger, reg prometheus.Registerer) (*Manager, error) {
	return build(cfg, logger, reg, func(*block) bool { return true })
}

// build is New of the wanted entries.
func build(cfg Config, logger *slog.Logger, reg prometheus.Registerer, wanted func(*block) bool) (*Manager, error) {
	m := &Manager{
		logger:   logger,
		reg:      reg,
		internal: prometheus.NewRegistry(),
		static:   staticGroups(cfg.StaticConfigs),
	}
	refresh := promdiscovery.NewRefreshMetrics(m.internal)
	if err := refresh.Register(); err != nil {
		return nil, fmt.Errorf("registering metrics of discovery: %w", err)
	}
	mechanisms := map[string]promdiscovery.DiscovererMetrics{}
	var errs []error
	for _, b := range cfg.blocks() {
		if !wanted(&b) {
			continue
		}
		name := b.config.Name()
		if mechanisms[name] == nil {
			mechanisms[name] = b.config.NewDiscovererMetrics(m.internal, refresh)
			if err := mechanisms[name].Register(); err != nil {
				return nil, fmt.Errorf("%s: registering metrics: %w", b.key, err)
			}
		}
		i := m.reports.add(b.key)
		// A connection a minute is cheap, and none is left behind by a
		// discovery that has ended.
		options := []promconfig.HTTPClientOption{promconfig.WithKeepAlivesDisabled()}
		if _, asks := b.config.(*http.SDConfig); asks {
			options = append(options, promconfig.WithDialContextFunc(bounded(answerBound())))
		}
		d, err := b.config.NewDiscoverer(promdiscovery.DiscovererOptions{
			Logger:            m.loggerOf(i, b.key),
			Metrics:           mechanisms[name],
			HTTPClientOptions: options,
			SetName:           b.key,
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.key, err))
		}
		m.sources = append(m.sources, source{b.key, d})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// loggerOf is the log of one source.
func (m *Manager) loggerOf(i int, key string) *slog.Logger {
	return slog.New(&witness{m.logger.With("discovery", key).Handler(), func(text string) bool { return m.reports.failed(i, text) }})
}

// staticGroups gives each group a source name that no other has.
func staticGroups(groups []*targetgroup.Group) []*targetgroup.Group {
	named := make([]*targetgroup.Group, 0, len(groups))
	for i, g := range groups {
		named = append(named, &targetgroup.Group{
			Targets: g.Targets,
			Labels:  g.Labels,
			Source:  fmt.Sprintf("static_configs[%d]", i),
		})
	}
	return named
}

// Run calls update with all groups of the pool whenever they change, until ctx
// ends; it returns when everything it started has ended. Static groups come at
// once; others as soon as their source answers, several changes together. A
// source that fails keeps the groups of its last good answer; one that answers
// with nothing takes them back. Update is called from this goroutine, one call
// after the other; it may keep the groups but must not change them. Run may be
// called once.
//
// A query to a name server that does not answer cannot be cancelled, so with
// dns_sd_configs the return may take some seconds after ctx ends.
func (m *Manager) Run(ctx context.Context, update func([]*targetgroup.Group)) {
	defer m.show()()
	ctx, cancel := context.WithCancel(ctx)
	updates := make(chan change)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, s := range m.sources {
		groups := make(chan []*targetgroup.Group)
		wg.Go(func() { m.supervise(ctx, s, groups) })
		wg.Go(func() { forward(ctx, i, groups, updates) })
	}
	m.merge(ctx, updates, update)
}

// supervise keeps a source running. Prometheus' discoverers run until ctx ends,
// but that of files gives up when the system has no file watch left.
func (m *Manager) supervise(ctx context.Context, s source, groups chan<- []*targetgroup.Group) {
	for {
		s.discoverer.Run(ctx, groups)
		if ctx.Err() != nil {
			return
		}
		m.logger.Error("Discovery ended early", "discovery", s.key, "retry_in", restart)
		select {
		case <-ctx.Done():
			return
		case <-time.After(restart):
		}
	}
}

// change is what one source sent.
type change struct {
	source int
	groups []*targetgroup.Group
}

// forward marks the groups of one source as its own.
func forward(ctx context.Context, source int, groups <-chan []*targetgroup.Group, updates chan<- change) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-groups:
			select {
			case <-ctx.Done():
				return
			case updates <- change{source, g}:
			}
		}
	}
}

// merge collects changes and reports them once they have settled.
func (m *Manager) merge(ctx context.Context, updates <-chan change, update func([]*targetgroup.Group)) {
	known := &merged{static: m.static, newest: make([]map[string]*targetgroup.Group, len(m.sources))}
	report := func() {
		groups := known.groups()
		if m.began.IsZero() {
			m.began = time.Now()
		}
		m.status.Store(&status{targets: countTargets(slices.Values(groups)), at: time.Now()})
		update(groups)
	}
	if len(m.static) > 0 || len(m.sources) == 0 {
		report()
	}
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-updates:
			news := known.apply(c)
			if m.reports.answered(c.source, countTargets(maps.Values(known.newest[c.source]))) {
				m.logger.Info("Source of targets answers again", "discovery", m.sources[c.source].key)
			}
			if news && settled == nil {
				settled = time.After(settle)
			}
		case <-settled:
			settled = nil
			report()
		}
	}
}
