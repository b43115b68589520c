package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// stopTimeout is how long loops have to end after the last answer was given;
// with the server's own ten seconds it is the most a stop takes.
const stopTimeout = time.Second

// exporter is the whole: a collector that scrapes and a server that answers.
type exporter struct {
	logger    *slog.Logger
	load      func() (*config.File, error)
	store     *snapshot.Store
	collector *collector.Collector
	server    *web.Server
	reloads   *reloadMetrics

	mu      sync.Mutex // Held while a configuration is read and applied, so that none is put over a newer one.
	current atomic.Pointer[config.File]
}

// newExporter loads the configuration, builds everything and binds the
// addresses; nothing is scraped or answered before run.
func newExporter(ctx context.Context, logger *slog.Logger, flags *webFlags, load func() (*config.File, error)) (*exporter, error) {
	first, err := load()
	if err != nil {
		return nil, err
	}
	registry, reloads, err := newRegistry()
	if err != nil {
		return nil, err
	}
	store := snapshot.NewStore()
	if limit := limitMemory(); limit > 0 {
		logger.Info("Memory limit taken from the control group", "bytes", limit, "room_for_targets", roomFor(limit))
	}
	c, err := collector.New(collector.Options{Store: store, Logger: logger, Registerer: registry})
	if err != nil {
		return nil, err
	}
	e := &exporter{logger: logger, load: load, store: store, collector: c, reloads: reloads}
	e.server, err = web.New(ctx, e.webOptions(flags, registry))
	if err != nil {
		flag := "--web.listen-address"
		if strings.HasPrefix(err.Error(), "web configuration") {
			flag = "--web.config.file"
		}
		return nil, fmt.Errorf("%w; see %s", err, flag)
	}
	if err := e.apply(first); err != nil {
		e.server.Close()
		return nil, err
	}
	return e, nil
}

// webOptions are what the server needs.
func (e *exporter) webOptions(flags *webFlags, registry *prometheus.Registry) web.Options {
	return web.Options{
		ListenAddresses: flags.addresses, WebConfigFile: flags.configFile, EnableLifecycle: flags.lifecycle,
		Probes:      web.Probes{GRPCHealthAddress: flags.health, Unjudged: web.Unjudged(flags.unjudged), IgnoreCanary: !flags.canary, Readiness: e.collector.Readiness},
		MaxInFlight: flags.inFlight, MaxConnections: collector.MostReaders(), Version: version.Version,
		Runbook: flags.runbook, Grafana: strings.TrimRight(flags.grafana, "/"), ConfigFile: flags.config,
		Store: e.store, Registry: registry, Logger: e.logger,
		Configuration: web.Configuration{
			Exposition: func() exposition.Config { return e.current.Load().Exposition },
			ConfigText: func() string { return e.current.Load().String() },
			Pools:      e.pools, Reload: e.reload,
		},
		Searches: e.collector.Searches,
		Ready:    e.collector.Ready,
	}
}

// newRegistry returns the registry of the process with its usual metrics.
func newRegistry() (*prometheus.Registry, *reloadMetrics, error) {
	registry := prometheus.NewRegistry()
	reloads := newReloadMetrics()
	for _, c := range append(reloads.all(),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector(program),
	) {
		if err := registry.Register(c); err != nil {
			return nil, nil, fmt.Errorf("own metrics: %w", err)
		}
	}
	return registry, reloads, nil
}

// run scrapes and serves until ctx ends. Answers under way are finished before
// the loops stop, so that none of them misses a replica.
func (e *exporter) run(ctx context.Context, hangups <-chan os.Signal) error {
	e.logger.Info("Starting", "version", version.Info(), "build", version.BuildContext())
	tightenHeap()
	forgetStart()
	scraping, stopScraping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopScraping()
	scraped := make(chan error, 1)
	go func() { scraped <- e.collector.Run(scraping) }()
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	served := make(chan error, 1)
	go func() { served <- e.server.Run(serving) }()

	var err error
	for running := true; running; {
		select {
		case <-hangups:
			_ = e.reload()
		case err = <-scraped:
			scraped <- nil
			stopServing()
			err = errors.Join(err, <-served)
			running = false
		case err = <-served:
			running = false
		}
	}
	stopScraping()
	e.logger.Info("Stopping")
	select {
	case e := <-scraped:
		return errors.Join(err, e)
	case <-time.After(stopTimeout):
		e.logger.Warn("Scrapes did not end in time")
		return err
	}
}

// reload reads and applies the configuration again. When anything about it is wrong
// the old one stays in force, and the log and a metric say so.
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

// pools are the ids of the pools of the current configuration.
func (e *exporter) pools() []string {
	pools := e.current.Load().Pools
	ids := make([]string, len(pools))
	for i := range pools {
		ids[i] = pools[i].PoolID
	}
	return ids
}

// apply makes a configuration the current one.
func (e *exporter) apply(next *config.File) error {
	for _, addr := range e.server.Addrs() {
		if err := next.CheckListen(addr); err != nil {
			return err
		}
	}
	if err := e.collector.ApplyConfig(next); err != nil {
		return err
	}
	e.current.Store(next)
	return nil
}
