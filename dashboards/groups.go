package dashboards

import (
	"strings"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// reads knows the rules that panels read.
//
//nolint:gochecknoglobals // constant data, read on first use.
var reads = sync.OnceValues(alerts.DefaultReads)

// Groups returns the groups of series that a panel reads, by its queries and by the rules that these read.
func (p *Panel) Groups() (exposition.Groups, error) {
	rules, err := reads()
	if err != nil {
		return 0, err
	}
	var all exposition.Groups
	for _, q := range p.Targets {
		all |= assess.GroupsRead(rules.Expand(q.Expr))
	}
	return all, nil
}

// roomForText is how many letters fit into a panel with a single number.
const roomForText = 24

// noteGroups says of a panel that reads more than group core which groups it needs.
func noteGroups(p *Panel) {
	all, err := p.Groups()
	more := all.BeyondCore()
	if err != nil || more == 0 {
		return // Rules that cannot be rendered fail the tests of their package.
	}
	named := "group " + more.String()
	if strings.Contains(named, ",") {
		named = "groups " + more.String()
	}
	p.Description += " Needs " + named + " of exposition.normalised."
	field := &p.FieldConfig.Defaults
	if p.Type == "stat" || p.Type == "bargauge" {
		if field.NoValue += " (" + more.String() + ")"; len(field.NoValue) > roomForText {
			field.NoValue = "no data (" + named + ")"
		}
		return
	}
	field.NoValue += " Or the exporter does not expose " + named + ": key exposition.normalised."
}
