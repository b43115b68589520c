//go:build nokubernetes

package discovery

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
)

// errLeftOut is what a configuration with kubernetes_sd_configs gets.
var errLeftOut = errors.New("this program was built without Kubernetes discovery (build tag nokubernetes): take the usual one, or file_sd_configs or http_sd_configs")

// kubernetesConfig stands for a block of kubernetes_sd_configs in a program that
// cannot discover in Kubernetes: it refuses to be read.
type kubernetesConfig map[string]any

// UnmarshalYAML refuses the block.
func (*kubernetesConfig) UnmarshalYAML(func(any) error) error { return errLeftOut }

// Name implements [promdiscovery.Config].
func (*kubernetesConfig) Name() string { return "kubernetes" }

// NewDiscoverer implements [promdiscovery.Config].
func (*kubernetesConfig) NewDiscoverer(promdiscovery.DiscovererOptions) (promdiscovery.Discoverer, error) {
	return nil, errLeftOut
}

// NewDiscovererMetrics implements [promdiscovery.Config].
func (*kubernetesConfig) NewDiscovererMetrics(prometheus.Registerer, promdiscovery.RefreshMetricsInstantiator) promdiscovery.DiscovererMetrics {
	return &promdiscovery.NoopDiscovererMetrics{}
}

// inCluster says whether a source asks the cluster that the exporter runs in.
func inCluster(promdiscovery.Config) bool { return false }
