package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// declareScrape declares the subcommand that scrapes once.
func declareScrape(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("scrape", "Scrape one server once and print its page as the exporter would serve it.")
	url := cmd.Arg("url", "URL of the server, as http://host:8002.").Required().String()
	timeout := cmd.Flag("scrape.timeout", "Time the scrape may take.").Default("4s").Duration()
	return cmd.FullCommand(), func() error {
		pool := collector.DefaultPoolConfig
		pool.ScrapeTimeout = model.Duration(*timeout)
		pool.ScrapeInterval = max(model.Duration(*timeout), collector.DefaultConfig.Global.ScrapeInterval)
		f, err := config.FromTargets([]string{*url}, pool)
		if err != nil {
			return usageError{err}
		}
		return untilSignal(func(ctx context.Context) error { return scrapeOnce(ctx, out, f) })
	}
}

// scrapeOnce prints the page without the exporter's series about the scrape.
func scrapeOnce(ctx context.Context, out *output, f *config.File) error {
	store := snapshot.NewStore()
	c, err := collector.New(collector.Options{
		Store: store, Logger: out.quiet(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	if err := c.ApplyConfig(&f.Collector, f.Exposition); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Duration(f.Collector.Pools[0].ScrapeTimeout))
	defer cancel()
	if err := c.ScrapeOnce(ctx); err != nil {
		return fmt.Errorf("scrape failed: %w", err)
	}
	view := store.View(nil)
	defer view.Release()
	var merger exposition.Merger
	_, err = merger.Layout(view.Blocks).WriteText(out.stdout, view.Blocks, nil, func(name string) bool {
		return !strings.HasPrefix(name, collector.OwnPrefix)
	})
	return err
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
