package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestOutcomesAreShownWhereTheyCanBeKnown has shares of what failed on every page
// of a window in which requests ended, and none where the capability says that
// they cannot be known.
func TestOutcomesAreShownWhereTheyCanBeKnown(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			rate, ended := c.seen[i].Value("requests_per_second")
			_, shown := c.seen[i].Value("request_error_ratio", "class", string(engine.ClassServer))
			can := c.seen[i].Capabilities[engine.CanOutcomes]
			require.NotEmpty(c, can.Reason)
			require.Equal(c, can.OK && ended && rate > 0, shown, "page %d, %s", i, can.Reason)
		}
	})
}

// TestAStallIsSeenWhereItCanBe holds the capability against the state of servers
// whose requests hang after some went well.
func TestAStallIsSeenWhereItCanBe(t *testing.T) {
	everyCell(t, func(c *cell) {
		last := &c.seen[len(c.seen)-1]
		hung := c.trouble.Name == "stalled" || c.trouble.Name == "stalled over missed scrapes"
		can := last.Capabilities[engine.CanStall]
		require.NotEmpty(c, can.Reason)
		require.Equal(c, hung && can.OK, last.State == assess.Stalled, can.Reason)
	})
}

// TestTimesOfRequestsAreShownWhereTheyCanBeKnown has the mean time of requests
// that ended well, and none where the capability says that there is none.
func TestTimesOfRequestsAreShownWhereTheyCanBeKnown(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			seconds, shown := c.seen[i].Value("request_duration_average_seconds")
			can := c.seen[i].Capabilities[engine.CanE2E]
			if shown {
				require.True(c, can.OK, "page %d, %s", i, can.Reason)
				require.InDelta(c, 2, seconds, 1e-9, "page %d", i)
			}
			if from := c.windowFrom(i); can.OK && c.grown(engine.ClassOK, from, i) > 0 {
				require.True(c, shown, "page %d", i)
			}
		}
	})
}
