package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

func declareScrape(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("scrape", "Scrape one server once and print its metrics as the exporter would serve them.")
	server := cmd.Arg("url", "Server, as host:port or http://host:8002.").Required().String()
	timeout := cmd.Flag("scrape.timeout", "Timeout of the scrape.").Default("4s").Duration()
	kindsFiles := cmd.Flag("kinds-file", "File that declares kinds of servers, as kinds_file of a configuration; "+
		"repeatable.").PlaceHolder("FILE").Strings()
	var access accessFlags
	access.declare(cmd)
	return cmd.FullCommand(), func() error {
		if err := access.check(); err != nil {
			return exitError{err, exitUsage}
		}
		pool, err := namedPool(&access, *kindsFiles)
		if err != nil {
			return exitError{err, exitUsage}
		}
		f, err := singleScrape([]string{*server}, *timeout, pool)
		if err != nil {
			return err
		}
		return untilSignal(func(ctx context.Context) error { return printScrape(ctx, out, f) })
	}
}

// printScrape prints the page, without the exporter's own series about the scrape.
func printScrape(ctx context.Context, out *output, f *config.File) error {
	c, store, err := out.newCollector(f)
	if err != nil {
		return err
	}
	timeout := 2 * time.Duration(f.Pools[0].ScrapeTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := c.ScrapeOnce(ctx, timeout); err != nil {
		return fmt.Errorf("scrape failed: %w", err)
	}
	blocks := store.Blocks(nil)
	var merger exposition.Merger
	err = merger.Layout(blocks).WriteText(out.stdout, blocks, func(name string) bool {
		return !strings.HasPrefix(name, assess.MetricPrefix)
	})
	return err
}

// namedPool returns the settings for servers that are named on the command line.
func namedPool(access *accessFlags, kindsFiles []string) (config.Pool, error) {
	pool := config.DefaultPool
	kinds, err := config.LoadKinds(kindsFiles...)
	if err != nil {
		return pool, err
	}
	pool.Kinds = kinds
	access.apply(&pool)
	return pool, nil
}

// singleScrape returns the configuration for a command that queries servers once, with the
// settings of pool.
func singleScrape(servers []string, timeout time.Duration, pool config.Pool) (*config.File, error) {
	pool.ScrapeTimeout = model.Duration(timeout)
	pool.ScrapeInterval = max(pool.ScrapeTimeout, config.DefaultFile.Global.ScrapeInterval)
	pool.Canary.CancelWithin = 0 // No canary runs, so the interval need not fit it.
	f, err := config.FromTargets(withScheme(servers, pool.Scheme), pool)
	if err != nil {
		return nil, exitError{err, exitUsage}
	}
	return f, nil
}

// misspelt matches what begins with a scheme, but for a colon or a slash: its host is not named http.
var misspelt = regexp.MustCompile(`^https?(:/|//)`)

// withScheme puts a scheme before each host:port, and spells the zone of an address as URLs do.
func withScheme(addresses []string, scheme string) []string {
	urls := slices.Clone(addresses)
	for i, address := range urls {
		if !strings.Contains(address, "://") && !misspelt.MatchString(address) {
			urls[i] = scheme + "://" + address
		}
		urls[i] = config.ZoneOfURL(urls[i])
	}
	return urls
}

// newCollector returns the collector for a command that queries servers once, and its store.
func (o *output) newCollector(f *config.File) (*collector.Collector, *snapshot.Store, error) {
	store := snapshot.NewStore()
	c, err := collector.New(collector.Options{
		Store:      store,
		Logger:     o.quietLogger(),
		Registerer: prometheus.NewRegistry(),
		Secrets:    o.secrets,
	})
	if err != nil {
		return nil, nil, err
	}
	err = c.ApplyConfig(f)
	return c, store, err
}

// quietLogger returns a logger that discards everything unless a level was given, since the
// command reports the results itself.
func (o *output) quietLogger() *slog.Logger {
	log := o.log
	if log.Level == nil || log.Level.String() == "info" {
		log.Writer = io.Discard
	}
	return promslog.New(&log)
}
