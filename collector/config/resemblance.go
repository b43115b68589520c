package config

import (
	"gopkg.in/yaml.v3"
)

// resembled lists what is taken for a configuration now and then: some keys that it has at the top,
// what it is, and what to do with it.
//
//nolint:gochecknoglobals // constant data.
var resembled = []struct {
	keys []string
	what string
}{
	{[]string{"apiVersion", "kind"}, "a Kubernetes manifest; give the exporter the text of its key config.yml"},
	{[]string{"groups"}, "rules for Prometheus; name the file in rule_files there"},
	{[]string{"route", "receivers"}, "the configuration of Alertmanager"},
	{[]string{"inhibit_rules"}, "a part of the configuration of Alertmanager"},
	{[]string{"services"}, "a Compose file"},
	{[]string{"tls_server_config"}, "TLS and users of the exporter; name the file in --web.config.file"},
	{[]string{"basic_auth_users"}, "TLS and users of the exporter; name the file in --web.config.file"},
	{[]string{"config"}, "values of the Helm chart; give the exporter what is below config"},
	{[]string{"mode", "image"}, "values of the Helm chart, without a config"},
	{[]string{"exporter_job"}, "values of rules; give them to trtllm_exporter rules --values"},
	{[]string{"evaluation_interval"}, "values of rules; give them to trtllm_exporter rules --values"},
	{[]string{"cluster_label"}, "values of rules; give them to trtllm_exporter rules --values"},
}

// resemblance returns the problem of a document that is something else, nil for any other.
func resemblance(root *yaml.Node) problems {
	what := ""
	switch {
	case root.Kind == yaml.SequenceNode && len(root.Content) > 0 && has(resolve(root.Content[0]), "targets"):
		what = "targets; name the file in file_sd_configs of a pool"
	case root.Kind != yaml.MappingNode || has(root, "pools"):
		return nil
	}
	for _, other := range resembled {
		if what == "" && root.Kind == yaml.MappingNode && hasAll(root, other.keys) {
			what = other.what
		}
	}
	if what == "" {
		return nil
	}
	return problems{{line: root.Line, text: "this is no configuration of the exporter, and looks like " + what}}
}

func hasAll(n *yaml.Node, keys []string) bool {
	for _, key := range keys {
		if !has(n, key) {
			return false
		}
	}
	return true
}
