package relabel

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
)

// DroppedBy describes the rule that drops a target with the given labels, with the values that
// made it match. It returns an empty string if no rule does.
func (r Rules) DroppedBy(in labels.Labels) string {
	b := labels.NewBuilder(in)
	for i, c := range r {
		if !prometheus.ProcessBuilder(b, c) {
			return fmt.Sprintf("relabel_configs[%d] %s", i, reasonOf(c, b))
		}
	}
	return ""
}

func reasonOf(c *prometheus.Config, b *labels.Builder) string {
	names, values := make([]string, len(c.SourceLabels)), make([]string, len(c.SourceLabels))
	for i, name := range c.SourceLabels {
		names[i], values[i] = string(name), b.Get(string(name))
	}
	label, value := strings.Join(names, c.Separator), strings.Join(values, c.Separator)
	switch {
	case c.Action == prometheus.Keep:
		return fmt.Sprintf("keeps targets whose %s matches %s, and it is %q", label, c.Regex.String(), value)
	case c.Action == prometheus.Drop && len(names) == 0:
		return "drops every target"
	case c.Action == prometheus.Drop:
		return fmt.Sprintf("drops targets whose %s matches %s, and it is %q", label, c.Regex.String(), value)
	case c.Action == prometheus.KeepEqual:
		return fmt.Sprintf("keeps targets whose %s is equal to %s, and these "+
			"are %q and %q", label, c.TargetLabel, value, b.Get(c.TargetLabel))
	default: // dropequal: no other action drops a target.
		return fmt.Sprintf("drops targets whose %s is equal to %s, and both are %q", label, c.TargetLabel, value)
	}
}
