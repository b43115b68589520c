package collector

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Check returns all errors that keep the pools of a configuration from running, such as invalid
// certificates or sources that cannot be built. It does not use the network.
func Check(cfg *config.File) error {
	var errs []error
	if err := cfg.Sharding.Place(""); err != nil {
		errs = append(errs, err)
	}
	for i := range cfg.Pools {
		p := &cfg.Pools[i]
		client, err := scrape.NewResources().Client(p.HTTP, slog.New(slog.DiscardHandler))
		if err == nil {
			client.Close()
		}
		if err := errors.Join(err, discovery.Check(p.Discovery)); err != nil {
			errs = append(errs, fmt.Errorf("pool %q: %w", p.PoolID, err))
		}
	}
	return errors.Join(errs...)
}
