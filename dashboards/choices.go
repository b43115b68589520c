package dashboards

import (
	"cmp"
	"slices"
)

// Choices are what whoever deploys the dashboards may have otherwise; what is empty
// stays. The chart and the mixin have the same.
type Choices struct {
	// Tags are those of all dashboards, of which the first links them to each other.
	Tags []string `json:"tags"`
	// Links are further ones at the top of each.
	Links []Link `json:"links"`
	// Refresh is how often they ask again, TimeFrom what they begin with when they are
	// opened, as "now-1h".
	Refresh  string `json:"refresh"`
	TimeFrom string `json:"timeFrom"`
	// Runbook is the address of the runbook, that of `trtllm_exporter rules` too.
	Runbook string `json:"runbook"`
}

// With is the dashboard with what was chosen; the dashboard itself is not changed.
func (d *Dashboard) With(c *Choices) *Dashboard {
	chosen := *d
	chosen.Links = slices.Concat(d.Links, c.Links)
	if len(c.Tags) > 0 {
		chosen.Tags, chosen.Links[0].Tags = c.Tags, c.Tags[:1]
	}
	chosen.runbook = c.Runbook
	chosen.Refresh, chosen.Time.From = cmp.Or(c.Refresh, d.Refresh), cmp.Or(c.TimeFrom, d.Time.From)
	return &chosen
}
