package replica

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// text returns a block as written to /metrics.
func text(b *exposition.Block) string {
	var page []byte
	for i := range b.Shape().Families() {
		page = b.AppendFamily(page, i)
	}
	return string(page)
}

// dropping drops series with a label, and renames all others to x.
func dropping(name string) exposition.Labeler {
	return func(in labels.Labels) exposition.Labeled {
		return exposition.Labeled{Labels: labels.NewBuilder(in).Set("__name__", "x").Labels(), Keep: !in.Has(name)}
	}
}

// bare returns the lines of a block without the common prefix and labels.
func bare(b *exposition.Block) string {
	return strings.NewReplacer(
		`{pool_id="p",replica_id="r"}`, "", `pool_id="p",`, "", `,replica_id="r"`, "", "trtllm_exporter_target_", "",
	).Replace(text(b))
}

func TestTargetCounters(t *testing.T) {
	c := newCounters(&target.Target{PoolID: "p", ReplicaID: "r"}, nil, 0)
	c.skipped, c.reshaped = 1, 2
	drops := exposition.Drops{Collisions: 3, Timestamps: 4, Conflicts: 5}
	for i := range drops.ByReason {
		drops.ByReason[i] = uint32(10 + i)
	}
	c.addPage(drops)
	c.addPage(drops)
	c.failures[scrape.ReasonTimeout]++
	c.failures[scrape.ReasonTimeout]++
	c.failures[scrape.ReasonParse]++
	up := &target.Status{
		Scraping: target.Scraping{
			Health:       target.HealthUp,
			LastDuration: 1500 * time.Millisecond,
			Samples:      7,
			BodyBytes:    8,
			Scrapes:      9,
			LastSuccess:  time.Unix(1000, 5e8),
		},
	}
	stats := derive.Stats{
		ClockJumps:       1,
		Gaps:             2,
		BrokenHistograms: 3,
		Impossible:       4,
		NonFinite:        5,
		Resets:           6,
		Restarts:         7,
	}
	require.Equal(t, `body_bytes 8
counter_resets_total 6
derived_skipped_total{reason="clock"} 1
derived_skipped_total{reason="gap"} 2
derived_skipped_total{reason="histogram"} 3
derived_skipped_total{reason="impossible"} 4
derived_skipped_total{reason="nonfinite"} 5
derived_skipped_total{reason="reset"} 6
derived_skipped_total{reason="restart"} 7
label_collisions_total 6
last_success_timestamp_seconds 1000.5
restarts_total 7
scrape_duration_seconds 1.5
scrape_failures_total{reason="timeout"} 2
scrape_failures_total{reason="parse"} 1
scrape_samples 7
scrapes_skipped_total 1
scrapes_total 9
series_dropped_total{reason="duplicate"} 20
series_dropped_total{reason="invalid_labels"} 22
series_dropped_total{reason="reserved_label"} 24
series_dropped_total{reason="reserved_name"} 26
series_dropped_total{reason="type_conflict"} 28
series_dropped_total{reason="relabel"} 30
series_dropped_total{reason="invalid_name"} 32
series_dropped_total{reason="invalid_histogram"} 34
series_dropped_total{reason="invalid_summary"} 36
series_dropped_total{reason="secret"} 38
shape_changes_total 2
timestamps_stripped_total 8
type_conflicts_total 10
up 1
`, bare(c.render(up, stats)))
	down := &target.Status{Scraping: target.Scraping{Health: target.HealthDown, Samples: 7, BodyBytes: -1}}
	page := bare(c.render(down, derive.Stats{}))
	require.NotContains(t, page, "scrape_samples", "there is no page")
	require.Contains(t, page, "body_bytes -1\n", "it was over the limit")
	require.NotContains(t, page, "derived_skipped")
}

func TestRelabelingOfOwnSeries(t *testing.T) {
	c := newCounters(&target.Target{PoolID: "p", ReplicaID: "r"}, dropping("reason"), 0)
	up := &target.Status{Scraping: target.Scraping{Health: target.HealthUp}}
	const one = `x{pool_id="p",replica_id="r"}`
	require.Equal(t, one+" 1\n", text(c.render(up, derive.Stats{})), "of equal ones the first")
	page, err := exposition.NewCache(exposition.Options{}).Parse([]byte(one+" 7\n"), "", nil)
	require.NoError(t, err)
	require.Empty(t, text(c.render(up, derive.Stats{}, nil, nil, page.Shape())))
	require.Equal(t, one+" 1\n", text(c.render(up, derive.Stats{})))
}

const nothing = `counter_resets_total 0
restarts_total 0
scrape_duration_seconds 0
scrapes_skipped_total 0
scrapes_total 0
shape_changes_total 0
up 0
`

func TestSeriesBeforeFirstScrape(t *testing.T) {
	c := newCounters(&target.Target{PoolID: "p", ReplicaID: "r"}, nil, 0)
	b := c.render(&target.Status{}, derive.Stats{})
	require.Contains(t, text(b), `trtllm_exporter_target_up{pool_id="p",replica_id="r"} 0`+"\n")
	require.Equal(t, nothing, bare(b))
}
