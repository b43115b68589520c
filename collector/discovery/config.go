// Package discovery runs Prometheus' service discovery for one pool and reports the latest target
// groups. It must not know how targets are relabeled or scraped. Begin reading at Run in
// manager.go.
package discovery

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// Config lists the sources of targets of one pool in the form of Prometheus' configuration. No
// entry is nil.
type Config struct {
	// StaticConfigs list targets.
	StaticConfigs []*targetgroup.Group `yaml:"static_configs,omitempty"`
	// FileSDConfigs read targets from JSON and YAML files and watch the files.
	FileSDConfigs []*file.SDConfig `yaml:"file_sd_configs,omitempty"`
	// HTTPSDConfigs query a URL for a JSON list of targets.
	HTTPSDConfigs []*http.SDConfig `yaml:"http_sd_configs,omitempty"`
	// DNSSDConfigs query the name servers of /etc/resolv.conf.
	DNSSDConfigs []*dns.SDConfig `yaml:"dns_sd_configs,omitempty"`
	// KubernetesSDConfigs watch pods, services and endpoints of a cluster.
	KubernetesSDConfigs []*Kubernetes `yaml:"kubernetes_sd_configs,omitempty"`
}

// block is an entry of a list whose sources find targets at run time.
type block struct {
	// key is the path of the entry, like "file_sd_configs[0]".
	key    string
	config promdiscovery.Config
	// refresh is the refresh interval, nil for a mechanism that watches.
	refresh *model.Duration
	// inCluster is true if the source queries the cluster in which the exporter runs.
	inCluster bool
}

// blocks returns the entries whose sources find targets at run time. A new mechanism needs a
// field of [Config], a line here and one in failures.
func (c *Config) blocks() []block {
	var all []block
	for i, b := range c.FileSDConfigs {
		all = append(all, block{key: fmt.Sprintf("file_sd_configs[%d]", i), config: b, refresh: &b.RefreshInterval})
	}
	for i, b := range c.HTTPSDConfigs {
		all = append(all, block{key: fmt.Sprintf("http_sd_configs[%d]", i), config: b, refresh: &b.RefreshInterval})
	}
	for i, b := range c.DNSSDConfigs {
		all = append(all, block{key: fmt.Sprintf("dns_sd_configs[%d]", i), config: b, refresh: &b.RefreshInterval})
	}
	for i, b := range c.KubernetesSDConfigs {
		all = append(all, block{
			key:       fmt.Sprintf("kubernetes_sd_configs[%d]", i),
			config:    b.config,
			inCluster: b.inCluster,
		})
	}
	return all
}

// Sources returns the number of sources. Static groups together count as one.
func (c *Config) Sources() int { return min(len(c.StaticConfigs), 1) + len(c.blocks()) }

// SetDirectory prepends dir to the relative file names in the blocks.
func (c *Config) SetDirectory(dir string) {
	for _, b := range c.blocks() {
		if s, ok := b.config.(interface{ SetDirectory(dir string) }); ok {
			s.SetDirectory(dir)
		}
	}
}

// Validate returns all errors, each beginning with its key. Most mistakes are already rejected
// while the blocks are decoded.
func (c *Config) Validate() error {
	var errs []error
	for i, g := range c.StaticConfigs {
		for _, err := range validateGroup(g) {
			errs = append(errs, fmt.Errorf("static_configs[%d]%w", i, err))
		}
	}
	for _, b := range c.blocks() {
		if b.refresh != nil && *b.refresh <= 0 {
			errs = append(errs, fmt.Errorf("%s.refresh_interval: must be longer than 0; leave it out to "+
				"take the default", b.key))
		}
	}
	for i, dns := range c.DNSSDConfigs {
		if dns.Port < 0 || dns.Port > 65535 {
			errs = append(errs, fmt.Errorf("dns_sd_configs[%d].port: %d is not a port; use 1 to 65535", i, dns.Port))
		}
	}
	return errors.Join(errs...)
}

// validateGroup returns all errors of a target group. Each begins with the rest of its key.
func validateGroup(g *targetgroup.Group) (errs []error) {
	for i, t := range g.Targets {
		if t[model.AddressLabel] == "" {
			errs = append(errs, fmt.Errorf(".targets[%d]: is empty; write host:port", i))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Labels)) {
		value := g.Labels[name]
		if !model.UTF8Validation.IsValidLabelName(string(name)) {
			errs = append(errs, fmt.Errorf(".labels: %q is not a label name; give it a name in UTF-8", string(name)))
			continue
		}
		if !utf8.ValidString(string(value)) {
			errs = append(errs, fmt.Errorf(".labels.%s: %q is not valid UTF-8; write it in UTF-8", string(name), string(value)))
		}
	}
	return errs
}
