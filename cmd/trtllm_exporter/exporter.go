package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type exporter struct {
	logger    *slog.Logger
	load      func() (*config.File, error)
	store     *snapshot.Store
	collector *collector.Collector
	server    *web.Server
	reloads   *reloadMetrics
	registry  *prometheus.Registry

	// mu is held while a configuration is loaded and applied, so that no older one replaces a
	// newer one.
	mu      sync.Mutex
	current atomic.Pointer[config.File]
}

// newExporter binds the addresses. Nothing is scraped or served before run.
func newExporter(
	ctx context.Context,
	logger *slog.Logger,
	secrets *secret.Store,
	opts web.Options,
	load func() (*config.File, error),
) (*exporter, error) {
	initial, err := load()
	if err != nil {
		return nil, err
	}
	if limit := limitMemory(); limit > 0 {
		logger.Info("Memory limit taken from the control group", "bytes", limit)
	}
	reloads := newReloadMetrics()
	e := &exporter{
		logger:   logger,
		load:     load,
		store:    snapshot.NewStore(),
		reloads:  reloads,
		registry: ownRegistry(reloads),
	}
	e.collector, err = collector.New(collector.Options{
		Store:      e.store,
		Logger:     logger,
		Registerer: e.registry,
		Secrets:    secrets,
	})
	if err != nil {
		return nil, err
	}
	if e.server, err = web.New(ctx, e.serves(opts)); err != nil {
		return nil, err
	}
	if err := e.apply(initial); err != nil {
		e.server.Close()
		return nil, err
	}
	return e, nil
}

// ownRegistry returns the registry of the exporter's metrics about itself.
func ownRegistry(reloads *reloadMetrics) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		reloads.total,
		reloads.successful,
		reloads.last,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector(program),
	)
	return registry
}

// serves returns the options of the server with what it shows.
func (e *exporter) serves(opts web.Options) web.Options {
	opts.Registry, opts.Store, opts.Logger, opts.Version = e.registry, e.store, e.logger, version.Version
	opts.MaxConnections = collector.MaxReaders()
	opts.Readiness, opts.Searches, opts.Ready = e.collector.Readiness, e.collector.Searches, e.collector.Ready
	opts.Configuration = web.Configuration{
		Exposition: func() exposition.Config { return e.current.Load().Exposition },
		ConfigText: func() string { return e.current.Load().String() },
		Pools:      e.pools,
		Reload:     e.reload,
	}
	return opts
}

// run scrapes and serves until ctx is done. Scraping stops last, so that no page lacks a replica.
func (e *exporter) run(ctx context.Context, hangups <-chan os.Signal) error {
	e.logger.Info("Starting", "version", version.Info(), "build", version.BuildContext())
	releaseStartupMemory()
	scraping, stopScraping := context.WithCancel(context.WithoutCancel(ctx))
	group, ctx := errgroup.WithContext(ctx)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		_ = e.collector.Run(scraping) // It ends with its context, and never fails.
	}()
	group.Go(func() error {
		defer func() {
			stopScraping()
			e.giveUp(collected)
		}()
		return e.server.Run(ctx)
	})
	group.Go(func() error {
		for {
			select {
			case <-hangups:
				_ = e.reload()
			case <-ctx.Done():
				e.logger.Info("Stopping")
				return nil
			}
		}
	})
	return group.Wait()
}

// maxLinger is how long the end of the process waits for work that was canceled.
const maxLinger = 2 * time.Second

// giveUp waits until all scrapes and sources have ended, but not for what may never end, such as reading a
// pipe that nobody writes. Nothing that they do needs an end.
func (e *exporter) giveUp(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(maxLinger):
		e.logger.Warn("Work that did not end when it was canceled, such as reading a file, is given up")
	}
}

// reload loads and applies the configuration. If that fails, the old configuration stays in use.
func (e *exporter) reload() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	next, err := e.load()
	if err == nil {
		err = e.apply(next)
	}
	e.reloads.count(err)
	if err != nil {
		e.logger.Error("Reload failed, the old configuration stays in force", "err", err)
		return err
	}
	e.logger.Info("Configuration reloaded", "pools", len(next.Pools))
	return nil
}

func (e *exporter) pools() map[string]web.PoolConfig {
	pools := e.current.Load().Pools
	all := make(map[string]web.PoolConfig, len(pools))
	for i := range pools {
		var p web.PoolConfig
		for _, o := range pools[i].SLO.Objectives() {
			p.Objectives = append(
				p.Objectives,
				web.Objective{Name: string(o.Name), Goal: o.Share, Within: o.Within.Seconds()},
			)
		}
		if c := pools[i].Cost; c != nil {
			p.ReplicaHour = &web.Cost{Amount: c.ReplicaHour, Currency: c.Currency}
		}
		all[pools[i].PoolID] = p
	}
	return all
}

func (e *exporter) apply(next *config.File) error {
	if err := e.collector.ApplyConfig(next); err != nil {
		return err
	}
	e.current.Store(next)
	return nil
}

// reloadMetrics counts reloads of the configuration.
type reloadMetrics struct {
	total            *prometheus.CounterVec
	successful, last prometheus.Gauge
}

// newReloadMetrics reports a successful load, without which the process does not start.
func newReloadMetrics() *reloadMetrics {
	m := &reloadMetrics{
		total:      assess.MetricConfigReloads.NewCounterVec(),
		successful: assess.MetricConfigReloadSuccessful.NewGauge(),
		last:       assess.MetricConfigReloadTime.NewGauge(),
	}
	m.total.WithLabelValues("success")
	m.total.WithLabelValues("failure")
	m.loaded()
	return m
}

func (m *reloadMetrics) count(err error) {
	if err != nil {
		m.total.WithLabelValues("failure").Inc()
		m.successful.Set(0)
		return
	}
	m.total.WithLabelValues("success").Inc()
	m.loaded()
}

func (m *reloadMetrics) loaded() {
	m.successful.Set(1)
	m.last.Set(float64(time.Now().UnixMilli()) / 1000)
}
