package dashboards

import (
	"cmp"
	"slices"
)

// Choices holds what a deployment may customize. Empty fields keep the defaults. The chart and the
// mixin have the same settings.
type Choices struct {
	// Tags of all dashboards. The first one links them to each other.
	Tags []string `json:"tags"`
	// Links are shown at the top of each dashboard.
	Links []Link `json:"links"`
	// Refresh is the refresh interval, TimeFrom the start of the time range, like "now-1h".
	Refresh  string `json:"refresh"`
	TimeFrom string `json:"timeFrom"`
	// Runbook is the address of the runbook.
	Runbook string `json:"runbook"`
}

// With returns a customized copy of the dashboard.
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
