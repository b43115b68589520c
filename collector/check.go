package collector

import (
	"errors"
	"log/slog"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// CheckPool returns all errors that keep a pool from running, such as invalid certificates or
// sources that cannot be built. Each begins with its key. It does not use the network.
func CheckPool(p *config.Pool) error {
	client, err := scrape.NewResources().Client(p.HTTP, slog.New(slog.DiscardHandler))
	if err == nil {
		client.Close()
	}
	return errors.Join(err, discovery.Check(p.Discovery))
}
