// Package discovery finds targets: it runs Prometheus' own service discovery
// for the replicas of one pool and hands on the newest groups of targets. It
// must not know how targets are relabeled or scraped.
package discovery

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// Config says where the targets of one pool are found: Prometheus' own blocks.
// An entry that YAML leaves empty is nil and refused by [Config.Validate].
type Config struct {
	// StaticConfigs are targets that are known beforehand.
	StaticConfigs []*targetgroup.Group `yaml:"static_configs,omitempty"`
	// FileSDConfigs read targets from JSON and YAML files and watch these.
	FileSDConfigs []*file.SDConfig `yaml:"file_sd_configs,omitempty"`
	// HTTPSDConfigs ask a URL for a JSON list of targets.
	HTTPSDConfigs []*http.SDConfig `yaml:"http_sd_configs,omitempty"`
	// DNSSDConfigs ask the name servers of /etc/resolv.conf.
	DNSSDConfigs []*dns.SDConfig `yaml:"dns_sd_configs,omitempty"`
	// KubernetesSDConfigs watch pods, services and endpoints of a cluster.
	KubernetesSDConfigs []*Kubernetes `yaml:"kubernetes_sd_configs,omitempty"`
}

// block is one entry of one of the lists that find targets at run time.
type block struct {
	// The entry's place in the configuration, "file_sd_configs[0]".
	key string
	// Nil when the entry is empty.
	config promdiscovery.Config
	// The time between two refreshes; nil for a mechanism that waits
	// for changes only.
	every *model.Duration
	// Whether it asks the cluster that the exporter runs in.
	inCluster bool
}

// blocks lists the entries that find targets at run time. A further mechanism
// is one field of [Config], one line here and one in mechanisms.
func (c *Config) blocks() []block {
	var all []block
	all = appendBlocks(all, "file_sd_configs", c.FileSDConfigs, func(b *file.SDConfig) *model.Duration { return &b.RefreshInterval })
	all = appendBlocks(all, "http_sd_configs", c.HTTPSDConfigs, func(b *http.SDConfig) *model.Duration { return &b.RefreshInterval })
	all = appendBlocks(all, "dns_sd_configs", c.DNSSDConfigs, func(b *dns.SDConfig) *model.Duration { return &b.RefreshInterval })
	for i, entry := range c.KubernetesSDConfigs {
		b := block{key: fmt.Sprintf("kubernetes_sd_configs[%d]", i)}
		if entry != nil {
			b.config, b.inCluster = entry.config, entry.inCluster
		}
		all = append(all, b)
	}
	return all
}

func appendBlocks[T any, P interface {
	*T
	promdiscovery.Config
}](all []block, key string, list []P, every func(P) *model.Duration,
) []block {
	for i, entry := range list {
		b := block{key: fmt.Sprintf("%s[%d]", key, i)}
		if entry != nil {
			b.config, b.every = entry, every(entry)
		}
		all = append(all, b)
	}
	return all
}

// Empty reports whether there is no source of targets at all.
func (c *Config) Empty() bool { return c.Sources() == 0 }

// Sources is how many sources of targets there are; all static ones are one.
func (c *Config) Sources() int {
	n := len(c.blocks())
	if len(c.StaticConfigs) > 0 {
		n++
	}
	return n
}

// Equal reports whether two configurations find the same targets in the same way,
// so that discovery can go on over a reload with all that it knows.
func (c *Config) Equal(other *Config) bool { return reflect.DeepEqual(c, other) }

// SetDirectory puts dir in front of the relative file names in the blocks.
func (c *Config) SetDirectory(dir string) {
	for _, b := range c.blocks() {
		if s, ok := b.config.(interface{ SetDirectory(dir string) }); ok {
			s.SetDirectory(dir)
		}
	}
}

// Validate says everything that is wrong; each error begins with the key.
// Most faults of a block are refused by its type already while it is read.
func (c *Config) Validate() error {
	var errs []error
	for i, g := range c.StaticConfigs {
		if err := validateGroup(g); err != nil {
			errs = append(errs, fmt.Errorf("static_configs[%d]%w", i, err))
		}
	}
	for _, b := range c.blocks() {
		switch {
		case b.config == nil:
			errs = append(errs, fmt.Errorf("%s: is empty; fill it or remove the entry", b.key))
		case b.every != nil && *b.every <= 0:
			errs = append(errs, fmt.Errorf("%s.refresh_interval: must be longer than 0; leave it out to take the default", b.key))
		}
	}
	for i, dns := range c.DNSSDConfigs {
		if dns != nil && (dns.Port < 0 || dns.Port > 65535) {
			errs = append(errs, fmt.Errorf("dns_sd_configs[%d].port: %d is not a port; use 1 to 65535", i, dns.Port))
		}
	}
	return errors.Join(errs...)
}

// validateGroup says what keeps a group of targets from being used; the error
// begins with the rest of the key.
func validateGroup(g *targetgroup.Group) error {
	if g == nil {
		return errors.New(": is empty; give it targets or remove the entry")
	}
	for i, t := range g.Targets {
		if t[model.AddressLabel] == "" {
			return fmt.Errorf(".targets[%d]: is empty; write host:port", i)
		}
	}
	for name, value := range g.Labels {
		if !model.UTF8Validation.IsValidLabelName(string(name)) {
			return fmt.Errorf(".labels: %q is not a label name; give it a name in UTF-8", string(name))
		}
		if !utf8.ValidString(string(value)) {
			return fmt.Errorf(".labels.%s: %q is not valid UTF-8; write it in UTF-8", string(name), string(value))
		}
	}
	return nil
}
