package collector

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
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

// CheckStaticTargets says what relabel_configs make of the static targets of a pool that is hardly meant: none is left,
// one cannot be used, or those of two hosts have one name. Each text begins with a key.
func CheckStaticTargets(p *config.Pool) (all []string) {
	if len(p.RelabelConfigs) == 0 {
		return nil // Their names were compared already.
	}
	owners, search := make(map[string]string), new(target.PoolDiscovery)
	for i, g := range p.Discovery.StaticConfigs {
		for k, lset := range g.Targets {
			key := fmt.Sprintf("static_configs[%d].targets[%d]", i, k)
			switch found, err := (targetMaker{p}).found(g, lset, search); {
			case err != nil:
				all = append(all, key+": "+err.Error())
			case found.Target == nil:
			default:
				name, page := found.Key(), target.Public(found.MetricsURL)
				if other := owners[name]; other != "" && hostOf(other) != hostOf(page) {
					all = append(all, fmt.Sprintf("%s: relabel_configs name it %s, as %s; let replica_id differ", key, name, other))
				}
				owners[name] = page
			}
		}
	}
	if len(search.Drops) > 0 && len(owners) == 0 && p.Discovery.Sources() == 1 {
		all = append(all, "relabel_configs drop every target: "+search.Drops[0].Rule)
	}
	return all
}
