//go:build !nokubernetes

package discovery

import (
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
)

// kubernetesConfig is one block of kubernetes_sd_configs. Its client is half of the
// program; the build tag nokubernetes leaves it out.
type kubernetesConfig = kubernetes.SDConfig

// inCluster says whether a source asks the cluster that the exporter runs in.
func inCluster(c promdiscovery.Config) bool {
	k, ok := c.(*kubernetes.SDConfig)
	return ok && k.KubeConfig == "" && k.APIServer.URL == nil
}
