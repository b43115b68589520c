package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/prometheus/common/model"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// warnings say, one line each, what of a good file may not be meant.
func warnings(file string, f *config.File) []string {
	var all []string
	text, err := os.ReadFile(file)
	var doc yaml.Node
	if err == nil && yaml.Unmarshal(text, &doc) == nil {
		all = append(all, variables(file, &doc, false)...)
	}
	addresses := map[string]string{}
	for i := range f.Pools {
		pool := &f.Pools[i]
		for _, text := range pool.Discovery.Unmatched() {
			all = append(all, fmt.Sprintf("%s: pools[%d].%s; targets appear when one does", file, i, text))
		}
		for j, g := range pool.Discovery.StaticConfigs {
			for k, t := range g.Targets {
				at := fmt.Sprintf("pools[%d].static_configs[%d].targets[%d]", i, j, k)
				// Two paths at one address are two pages.
				key := string(t[model.AddressLabel]) + string(g.Labels[model.MetricsPathLabel]) + pool.MetricsPath
				if first, twice := addresses[key]; twice {
					all = append(all, fmt.Sprintf("%s: %s: %s is also the address of %s; it is scraped twice, and sums count it twice", file, at, t[model.AddressLabel], first))
					continue
				}
				addresses[key] = at
			}
		}
	}
	return all
}

// variables are the values that look like variables of the environment, which
// are not replaced. In rules of relabeling they are groups of the expression.
func variables(file string, n *yaml.Node, rules bool) []string {
	if n.Kind == yaml.ScalarNode && !rules {
		if found := regexp.MustCompile(`\$\{[^}]*\}`).FindString(n.Value); found != "" {
			return []string{fmt.Sprintf("%s: line %d: %s is not replaced by a variable of the environment; write the value, or replace it before the start", file, n.Line, found)}
		}
	}
	var all []string
	for i, child := range n.Content {
		inRules := rules
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			key := n.Content[i-1].Value
			inRules = rules || key == "relabel_configs" || key == "metric_relabel_configs"
		}
		all = append(all, variables(file, child, inRules)...)
	}
	return all
}
