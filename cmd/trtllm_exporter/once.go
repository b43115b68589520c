package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// onceOf is the configuration of a command that asks servers once, as the pool
// says.
func onceOf(urls []string, timeout time.Duration, pool config.Pool) (*config.File, error) {
	pool.ScrapeTimeout = model.Duration(timeout)
	pool.ScrapeInterval = max(pool.ScrapeTimeout, config.DefaultFile.Global.ScrapeInterval)
	// No canary asks, so that the interval need not be short enough for one.
	pool.Canary.CancelWithin = 0
	f, err := config.FromTargets(urls, pool)
	if err != nil {
		return nil, usageError{err}
	}
	return f, nil
}

// schemed are addresses of servers as URLs: host:port gets the scheme.
func schemed(addresses []string, scheme string) []string {
	urls := slices.Clone(addresses)
	for i, address := range urls {
		if !strings.Contains(address, "://") {
			urls[i] = scheme + "://" + address
		}
	}
	return urls
}

// once is a collector for a command that asks servers once, and its store.
func (o *output) once(f *config.File) (*collector.Collector, *snapshot.Store, error) {
	store := snapshot.NewStore()
	c, err := collector.New(collector.Options{
		Store: store, Logger: o.quiet(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := c.ApplyConfig(f); err != nil {
		return nil, nil, err
	}
	return c, store, nil
}

// quiet is the logger of commands that say themselves how a target answered:
// it is silent unless a level was asked for.
func (o *output) quiet() *slog.Logger {
	log := o.log
	if log.Level == nil || log.Level.String() == "info" {
		log.Writer = io.Discard
	}
	return promslog.New(&log)
}
