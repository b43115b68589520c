package discovery

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"gopkg.in/yaml.v3"
)

// Kubernetes is one block of kubernetes_sd_configs, whose client is half of the
// program. Only a program that imports Prometheus' package of it has it, which
// registers itself there; in others the block refuses to be read.
type Kubernetes struct {
	config promdiscovery.Config
	// inCluster reports whether the block asks the cluster that the exporter runs in.
	inCluster bool
}

// registered are blocks in the types that packages of Prometheus registered.
type registered struct{ Blocks promdiscovery.Configs }

// KubernetesBlock is what a block is read into, which sets its defaults first.
func KubernetesBlock() promdiscovery.Config {
	var all registered
	err := promdiscovery.UnmarshalYAMLWithInlineConfigs(&all, func(into any) error {
		return yaml.Unmarshal([]byte("kubernetes_sd_configs: [{role: pod}]"), into)
	})
	if err != nil || len(all.Blocks) == 0 {
		return &leftOut{}
	}
	return all.Blocks[0]
}

// UnmarshalYAML reads the block over its defaults.
func (k *Kubernetes) UnmarshalYAML(unmarshal func(any) error) error {
	k.config = KubernetesBlock()
	if err := unmarshal(k.config); err != nil {
		return err
	}
	var written map[string]any
	if err := unmarshal(&written); err != nil {
		return err
	}
	file, _ := written["kubeconfig_file"].(string)
	k.inCluster = file == "" && written["api_server"] == nil
	return nil
}

// MarshalYAML prints the block as it was read.
func (k *Kubernetes) MarshalYAML() (any, error) { return k.config, nil }

// errLeftOut is what a configuration with kubernetes_sd_configs gets.
var errLeftOut = errors.New("this program was built without Kubernetes discovery (build tag nokubernetes): take the usual one, or file_sd_configs or http_sd_configs")

// leftOut stands for a block in a program that cannot discover in Kubernetes: it
// refuses to be read.
type leftOut map[string]any

// UnmarshalYAML refuses the block.
func (*leftOut) UnmarshalYAML(func(any) error) error { return errLeftOut }

// Name implements [promdiscovery.Config].
func (*leftOut) Name() string { return "kubernetes" }

// NewDiscoverer implements [promdiscovery.Config].
func (*leftOut) NewDiscoverer(promdiscovery.DiscovererOptions) (promdiscovery.Discoverer, error) {
	return nil, errLeftOut
}

// NewDiscovererMetrics implements [promdiscovery.Config].
func (*leftOut) NewDiscovererMetrics(prometheus.Registerer, promdiscovery.RefreshMetricsInstantiator) promdiscovery.DiscovererMetrics {
	return &promdiscovery.NoopDiscovererMetrics{}
}
