//go:build e2e_live

package live

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// expectedEmpty returns the queries without data for this fleet, by dashboard, panel and
// reference, with the reason.
func expectedEmpty() map[string]string {
	const sole = "no server here has two versions of a model"
	const free = "no pool here says what its replicas cost"
	const whole = "no server here is disaggregated"
	return map[string]string{
		"trtllm-versions / Difference in failed requests / A":                  sole,
		"trtllm-versions / Difference in failed requests / B":                  sole,
		"trtllm-versions / Difference in mean duration / A":                    sole,
		"trtllm-versions / Difference in mean duration / B":                    sole,
		"trtllm-versions / Difference in time to first token / A":              sole,
		"trtllm-versions / Difference in time to first token / B":              sole,
		"trtllm-versions / Worse than the previous version / A":                sole,
		"trtllm-capacity / Cost per hour / A":                                  free,
		"trtllm-capacity / Cost per million generated tokens / A":              free,
		"trtllm-capacity / Cost per million generated tokens / B":              free,
		"trtllm-capacity / Idle replicas / A":                                  free,
		"trtllm-exporter / Dropped series by reason / A":                       "no server breaks a limit here",
		"trtllm-replica / Disaggregated transfers / A":                         whole,
		"trtllm-disaggregation / In routers / A":                               whole,
		"trtllm-disaggregation / Transfer speed / A":                           whole,
		"trtllm-disaggregation / Failed transfers / A":                         whole,
		"trtllm-disaggregation / Waiting in routers / A":                       whole,
		"trtllm-disaggregation / Requests sent to a stage / A":                 whole,
		"trtllm-disaggregation / Errors and retries at a stage / A":            whole,
		"trtllm-disaggregation / Errors and retries at a stage / B":            whole,
		"trtllm-disaggregation / Migrated requests / A":                        whole,
		"trtllm-disaggregation / Moved between GPU and host / A":               whole,
		"trtllm-disaggregation / Moved between GPU and host / B":               whole,
		"trtllm-disaggregation / Transferred KV caches / A":                    whole,
		"trtllm-disaggregation / Transfer speed by tier / A":                   whole,
		"trtllm-disaggregation / Failed transfers by reason / A":               whole,
		"trtllm-disaggregation / Transfer time per disaggregated request / A":  whole,
		"trtllm-disaggregation / Time between tokens at the frontend, p95 / E": "no pool here has that objective",
		"trtllm-latency / Time between tokens, percentiles / K":                "no pool here has that objective",
		"trtllm-latency / Time between tokens, p95 by replica / D":             "no pool here has that objective",
	}
}

// alternatives matches the legends of percentiles: a panel shows the value, or a bound
// above or below it.
var alternatives = regexp.MustCompile(`\bp(50|95|99)( [≤>])?( \{\{|$)`)

// rare returns queries that have data only while a value is above the largest bound of its
// histogram, requests are rejected, or requests take less than the exporter's window, which
// is short here.
func rare() []string {
	return []string{
		"trtllm-fleet / Pools / H",
		"trtllm-fleet / Pools / I",
		"trtllm-fleet / Pools / J",
		"trtllm-latency / Time between tokens, above the largest bucket / A",
		"trtllm-capacity / Rejected (overload) / A",
		"trtllm-capacity / Rejected (overload) / B",
		"trtllm-capacity / Hidden queue of Triton's executor (estimate) / A",
		"trtllm-latency / Time per output token (estimate) / A",
	}
}

// panels reports for every query of every dashboard whether it returns data.
func (s *stack) panels(t *testing.T) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, q := range panelQueries("10s", "1m", "") {
		name := q.name
		if alternatives.MatchString(q.legend) {
			name += ", " + q.legend
		}
		found[name] = len(s.query(t, q.expr)) > 0
	}
	return found
}

// requireComplete requires that every query returned data, before or after the faults.
func (*stack) requireComplete(t *testing.T, before, after map[string]bool) {
	t.Helper()
	reasons := expectedEmpty()
	empty := 0
	for query := range before {
		if _, listed := reasons[query]; listed {
			empty++
			require.False(t, before[query] || after[query], "%s has data but is listed as empty", query)
			continue
		}
		if !before[query] && !after[query] && !slices.Contains(rare(), query) && !alternatives.MatchString(query) {
			t.Errorf("%s has no data", query)
		}
	}
	require.Len(t, reasons, empty, "listed queries that do not exist")
	t.Logf("%d queries, %d of them expected to be empty", len(before), empty)
}

// requireVocabulary compares the vocabulary with the exporter's own metrics.
func (s *stack) requireVocabulary(t *testing.T) {
	t.Helper()
	body, err := fetch(t.Context(), "http://"+s.exporter+"/metrics")
	require.NoError(t, err)
	own := vocabulary.Own()
	seen := make(map[string]bool)
	for line := range strings.SplitSeq(string(body), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 4 && fields[1] == "TYPE" && strings.HasPrefix(fields[2], "trtllm_exporter_") {
			seen[fields[2]] = true
			require.Contains(t, own, fields[2], "a family that alerts and dashboards do not know")
			require.Equal(t, string(own[fields[2]].Type), fields[3], fields[2])
		}
	}
	// These appear with the first event, or in another mode.
	sometimes := regexp.MustCompile(
		`_(scrape_failures|series_dropped|derived_skipped|discovery_failures|http_requests)_total$` +
			`|_target_(label_collisions|timestamps_stripped|type_conflicts)_total$` +
			`|_(shards|target_(series|derived|models)_left_out)$`,
	)
	var never []string
	for name := range own {
		if strings.HasPrefix(name, "trtllm_exporter_") && !sometimes.MatchString(name) && !seen[name] {
			never = append(never, name)
		}
	}
	require.Empty(t, never, "families that are never exposed")
}
