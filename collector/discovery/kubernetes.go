package discovery

import (
	"errors"

	promdiscovery "github.com/prometheus/prometheus/discovery"
	"gopkg.in/yaml.v3"
)

// Kubernetes is one block of kubernetes_sd_configs. Its client is half of the binary, so it works
// only in programs that import Prometheus' package for it, which registers itself; in other
// programs decoding the block fails.
type Kubernetes struct {
	config promdiscovery.Config
	// inCluster is true if the block queries the cluster in which the exporter runs.
	inCluster bool
}

// registered decodes blocks into the types that Prometheus' packages have registered.
type registered struct{ Blocks promdiscovery.Configs }

// KubernetesBlock returns a block of the registered type with its defaults, nil in a program
// without Kubernetes discovery.
func KubernetesBlock() promdiscovery.Config {
	var all registered
	err := promdiscovery.UnmarshalYAMLWithInlineConfigs(&all, func(into any) error {
		return yaml.Unmarshal([]byte("kubernetes_sd_configs: [{role: pod}]"), into)
	})
	if err != nil || len(all.Blocks) == 0 {
		return nil
	}
	return all.Blocks[0]
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (k *Kubernetes) UnmarshalYAML(unmarshal func(any) error) error {
	if k.config = KubernetesBlock(); k.config == nil {
		return errors.New("this program was built without Kubernetes discovery (build tag nokubernetes): use the " +
			"standard build, file_sd_configs or http_sd_configs")
	}
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

// MarshalYAML implements yaml.Marshaler.
func (k *Kubernetes) MarshalYAML() (any, error) { return k.config, nil }
