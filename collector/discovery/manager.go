package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const (
	// settle is how long the first change waits for further ones, so that a file with many groups
	// causes one update.
	settle = 100 * time.Millisecond
	// restart is how long to wait before a source that ended is restarted.
	restart = 10 * time.Second
)

type source struct {
	key string
	// elsewhere has what requests to the source need that is not in the configuration.
	elsewhere  secret.Elsewhere
	discoverer promdiscovery.Discoverer
	// client counts the failures of a source whose client logs them elsewhere; nil for others.
	client *clientFailures
	// read are the files of a source that has some.
	read *files
}

// Manager merges the target groups of the sources of one pool.
type Manager struct {
	logger  *slog.Logger
	secrets *secret.Store
	// internal holds the metrics of Prometheus' discoverers, which count failures. Sources in
	// Kubernetes have registries of their own.
	internal *prometheus.Registry
	static   []*targetgroup.Group
	sources  []source
	status   atomic.Pointer[status]
	reports  reports
}

// status summarizes the last update; first is when the first update was.
type status struct {
	targets        int
	updated, first time.Time
}

// New builds the discovery of one pool from a validated configuration and reads the files that it
// names, such as certificates, but starts nothing. The configuration must not be changed
// afterwards.
//
// Secrets learns what the sources are asked with, and hides it in what they answer.
func New(cfg Config, secrets *secret.Store, logger *slog.Logger) (*Manager, error) {
	return build(cfg, secrets, logger, func(*block) bool { return true })
}

// build is New for selected entries.
func build(cfg Config, secrets *secret.Store, logger *slog.Logger, wanted func(*block) bool) (*Manager, error) {
	m := &Manager{
		logger:   logger,
		secrets:  secrets,
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
		if wanted(&b) {
			errs = append(errs, m.add(&b, mechanisms, refresh))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// add adds the source of a block. Sources of one mechanism share its metrics.
func (m *Manager) add(
	b *block, mechanisms map[string]promdiscovery.DiscovererMetrics, refresh promdiscovery.RefreshMetricsManager,
) error {
	m.reports.all = append(m.reports.all, target.Source{Key: b.key})
	m.sources = append(m.sources, source{
		key:       b.key,
		elsewhere: m.secrets.AddConfig(b.config),
		client:    newClientFailures(b),
	})
	s := &m.sources[len(m.sources)-1]
	logger := m.sourceLogger(len(m.sources)-1, b.key)
	if c, reads := b.config.(*file.SDConfig); reads {
		s.read = newFiles(c, logger)
		s.discoverer = s.read
		return nil
	}
	name, registry := b.config.Name(), m.internal
	if s.client != nil {
		name, registry = b.key, s.client.registry
	}
	if mechanisms[name] == nil {
		mechanisms[name] = b.config.NewDiscovererMetrics(registry, refresh)
		if err := mechanisms[name].Register(); err != nil {
			return fmt.Errorf("%s: registering metrics: %w", b.key, err)
		}
	}
	config, err := carefulLogin(b.config)
	if err != nil {
		return fmt.Errorf("%s: %w", b.key, err)
	}
	d, err := config.NewDiscoverer(promdiscovery.DiscovererOptions{
		Logger:            logger,
		Metrics:           mechanisms[name],
		HTTPClientOptions: clientOptions(b),
		SetName:           b.key,
	})
	s.discoverer = d
	if err == nil {
		err = m.guard(d, b, s, logger)
	}
	if err != nil {
		err = errors.New(inWords(err.Error()))
	}
	switch {
	case err != nil && b.inCluster:
		return fmt.Errorf("%s: %w; run the exporter in the cluster, or set kubeconfig_file or api_server", b.key, err)
	case err != nil:
		return fmt.Errorf("%s: %w", b.key, err)
	}
	return nil
}

// guard puts what guards against a server of targets between it and its client, if the source asks one.
func (m *Manager) guard(d promdiscovery.Discoverer, b *block, s *source, logger *slog.Logger) error {
	lists := s.client != nil
	if _, asks := b.config.(*http.SDConfig); !asks && !lists {
		return nil
	}
	client := clientOf(d)
	if client == nil || client.Transport == nil {
		return errors.New("its client cannot be guarded")
	}
	noting := s.elsewhere.Transport(client.Transport)
	if !lists {
		client.Transport = careful{noting, m.secrets, maxAnswer()}
		return nil
	}
	client.Transport = limitLists(careful{noting, m.secrets, math.MaxInt64}, func(err error) {
		logger.Error("List is not read to its end", "err", err)
	})
	return nil
}

// clientOptions returns the options of the client that asks a source. Connections are rare, and none must
// outlive the discovery.
func clientOptions(b *block) []promconfig.HTTPClientOption {
	options := []promconfig.HTTPClientOption{promconfig.WithKeepAlivesDisabled()}
	if c, asks := b.config.(*http.SDConfig); asks {
		options = append(options, promconfig.WithDialContextFunc(timedDial(time.Duration(c.RefreshInterval))))
	}
	return options
}

func (m *Manager) sourceLogger(i int, key string) *slog.Logger {
	return slog.New(&errorRecorder{
		m.logger.With("discovery", key).Handler(),
		func(text string) bool { return m.reports.failed(i, text) },
		func(text string) string { return target.Shortened(m.secrets.Hide(target.Scrub(text))) },
	})
}

// hide hides secrets in the name and the labels of a group that a source found. Parameters are sent, and not shown.
func (m *Manager) hide(g *targetgroup.Group) {
	if g == nil {
		return
	}
	g.Source = m.secrets.HideInData(g.Source)
	for _, set := range append(slices.Clone(g.Targets), g.Labels) {
		for name, value := range set {
			if strings.HasPrefix(string(name), model.ParamLabelPrefix) {
				continue
			}
			shownName, shown := m.secrets.HideInData(string(name)), m.secrets.HideInData(string(value))
			if shownName != string(name) || shown != string(value) {
				delete(set, name)
				set[model.LabelName(shownName)] = model.LabelValue(shown)
			}
		}
	}
}

// staticGroups returns the groups with unique Sources.
func staticGroups(groups []*targetgroup.Group) []*targetgroup.Group {
	unique := make([]*targetgroup.Group, 0, len(groups))
	for i, g := range groups {
		unique = append(unique, &targetgroup.Group{
			Targets: g.Targets,
			Labels:  g.Labels,
			Source:  fmt.Sprintf("static_configs[%d]", i),
		})
	}
	return unique
}

// Run calls update with all groups of the pool whenever they change, until ctx is done, and
// returns after everything it started has ended. The first update has the static groups; others
// follow as the sources answer. A failing source keeps the groups of its last good answer; an
// empty answer removes them. Update is called from this goroutine; it may keep the groups but
// must not change them. Run may be called only once.
//
// DNS queries cannot be canceled, so with dns_sd_configs Run may return some seconds after ctx is
// done.
func (m *Manager) Run(ctx context.Context, update func([]*targetgroup.Group)) {
	ctx, cancel := context.WithCancel(ctx)
	updates := make(chan change)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	defer m.hearClient()()
	for i, s := range m.sources {
		groups := make(chan []*targetgroup.Group)
		wg.Go(func() { m.supervise(ctx, s, groups) })
		wg.Go(func() { forward(ctx, i, groups, updates) })
	}
	m.merge(ctx, updates, update)
}

// supervise restarts a source that ends early, as Prometheus' file discovery does when the system
// is out of file watches.
func (m *Manager) supervise(ctx context.Context, s source, groups chan<- []*targetgroup.Group) {
	for {
		m.discover(ctx, s, groups)
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

// discover runs a source. A panic in it ends only that.
func (m *Manager) discover(ctx context.Context, s source, groups chan<- []*targetgroup.Group) {
	defer func() {
		if panicked := recover(); panicked != nil {
			m.logger.Error("Discovery panicked", "discovery", s.key, "panic", panicked, "stack", string(debug.Stack()))
		}
	}()
	s.discoverer.Run(ctx, groups)
}

type change struct {
	source int
	groups []*targetgroup.Group
}

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

// merge collects changes and calls update when they have settled.
func (m *Manager) merge(ctx context.Context, updates <-chan change, update func([]*targetgroup.Group)) {
	all := &groupSet{static: m.static, latest: make([]map[string]*targetgroup.Group, len(m.sources))}
	report := func() {
		groups, now := all.groups(), time.Now()
		next := &status{targets: countTargets(slices.Values(groups)), updated: now, first: now}
		if previous := m.status.Load(); previous != nil {
			next.first = previous.first
		}
		m.status.Store(next)
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
			for _, g := range c.groups {
				m.hide(g)
			}
			changed := all.apply(c)
			if m.reports.answered(c.source, countTargets(maps.Values(all.latest[c.source]))) {
				m.logger.Info("Source of targets answers again", "discovery", m.sources[c.source].key)
			}
			if changed && settled == nil {
				settled = time.After(settle)
			}
		case <-settled:
			settled = nil
			report()
		}
	}
}
