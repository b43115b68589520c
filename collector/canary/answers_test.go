package canary_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

// entry is a report that is added to a record.
type entry struct {
	output, key string
}

func TestOutputsAreComparedWithinOneIdentity(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []entry
		answers int
		alike   bool
		changes uint64
	}{
		{"a single answer", []entry{{"a", "v1"}}, 1, true, 0},
		{"two alike", []entry{{"a", "v1"}, {"a", "v1"}}, 2, true, 0},
		{"two different answers", []entry{{"a", "v1"}, {"b", "v1"}}, 2, false, 1},
		{"there and back", []entry{{"a", "v1"}, {"b", "v1"}, {"a", "v1"}}, 3, false, 2},
		{"another version may answer otherwise", []entry{{"a", "v1"}, {"b", "v2"}, {"b", "v2"}}, 2, true, 0},
		{"a failed request", []entry{{"a", "v1"}, {"", "v1"}, {"a", "v1"}}, 2, true, 0},
		{"an old difference is forgotten", append([]entry{{"b", "v1"}}, same(10)...), 10, true, 1},
		{"a difference among the last ten", append([]entry{{"b", "v1"}}, same(9)...), 10, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var record canary.Record
			for _, e := range c.entries {
				r := canary.Report{Result: canary.OK, Output: e.output}
				if e.output == "" {
					r = canary.Report{Result: canary.Stalled}
				}
				record.Order(order(e.key))
				if !record.Take(r, 0) {
					record.Confirm()
				}
			}
			s := record.Last()
			require.Equal(t, c.answers, s.Answers())
			require.Equal(t, c.alike, s.Alike())
			require.Equal(t, c.changes, s.Changes)
		})
	}
}

// same returns equal answers.
func same(n int) []entry {
	all := make([]entry, n)
	for i := range all {
		all[i] = entry{"a", "v1"}
	}
	return all
}
