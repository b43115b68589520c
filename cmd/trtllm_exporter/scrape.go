package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// declareScrape declares the subcommand that scrapes once.
func declareScrape(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("scrape", "Scrape one server once and print its metrics as the exporter would serve them.")
	url := cmd.Arg("url", "Server, as host:port or http://host:8002.").Required().String()
	timeout := cmd.Flag("scrape.timeout", "Time the scrape may take.").Default("4s").Duration()
	return cmd.FullCommand(), func() error {
		f, err := onceOf(schemed([]string{*url}, config.DefaultPool.Scheme), *timeout, config.DefaultPool)
		if err != nil {
			return err
		}
		return untilSignal(func(ctx context.Context) error { return scrapeOnce(ctx, out, f) })
	}
}

// scrapeOnce prints the page without the exporter's series about the scrape.
func scrapeOnce(ctx context.Context, out *output, f *config.File) error {
	c, store, err := out.once(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Duration(f.Pools[0].ScrapeTimeout))
	defer cancel()
	if err := c.ScrapeOnce(ctx); err != nil {
		return fmt.Errorf("scrape failed: %w", err)
	}
	blocks := store.Blocks(nil)
	var merger exposition.Merger
	_, err = merger.Layout(blocks).WriteText(out.stdout, blocks, nil, func(name string) bool {
		return !strings.HasPrefix(name, selfmetrics.Prefix)
	})
	return err
}
