package dashboards

import (
	"cmp"
	"slices"
	"strings"
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
	// Exporter is the address of the exporter, to whose status pages and runbook tables and series
	// link; Runbook that of another runbook. Without an address there is no link.
	Exporter string `json:"exporter"`
	Runbook  string `json:"runbook"`
}

// With returns a customized copy of the dashboard.
func (d *Dashboard) With(c *Choices) *Dashboard {
	chosen := *d
	chosen.Links = slices.Concat(d.Links, c.Links)
	if len(c.Tags) > 0 {
		chosen.Tags, chosen.Links[0].Tags = c.Tags, c.Tags[:1]
	}
	chosen.exporter, chosen.runbook = c.Exporter, c.Runbook
	chosen.Refresh, chosen.Time.From = cmp.Or(c.Refresh, d.Refresh), cmp.Or(c.TimeFrom, d.Time.From)
	return &chosen
}

// Titles of links, before which a deployment that knows the addresses has others. They occur in no
// other place of a dashboard.
const (
	toPool      = "Latency of the pool"
	toReplica   = "Dashboard of the replica"
	toFleet     = "Pool on Fleet"
	ofSeries    = "Replica ${__field.labels.replica_id}"
	statusTitle = "Status page"
)

// withAddresses adds links to status pages and the runbook to the JSON of a dashboard. The chart and
// the mixin replace the same texts.
func withAddresses(text, exporter, runbook string) string {
	before := func(title, first, url string) {
		anchor := `"title": "` + title + `",`
		text = strings.ReplaceAll(text, anchor, `"title": "`+first+`", "url": "`+url+`" }, { `+anchor)
	}
	if exporter != "" {
		before(toPool, statusTitle, exporter+"/?pool=${__value.raw}")
		before(toReplica, statusTitle, exporter+"/replica?target=${__data.fields.Pool}/${__value.raw}")
		before(ofSeries, statusTitle,
			exporter+"/replica?target=${__field.labels.pool_id}/${__field.labels.replica_id}")
		runbook = cmp.Or(runbook, exporter+"/runbook")
	}
	if runbook != "" {
		before(toFleet, "Runbook", runbook+"#${__value.raw}")
	}
	return text
}
