package dashboards

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// exposing lists the kinds of servers with series of a signal, as in the label engine.
func exposing(s engine.Signal) string {
	var names []string
	for _, k := range engine.All() {
		if slices.ContainsFunc(k.Meanings(), func(m engine.Meaning) bool { return m.Signal == s }) {
			names = append(names, string(k.Name))
		}
	}
	return strings.Join(names, ", ")
}
