package assess_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestStateChangeLog(t *testing.T) {
	t.Parallel()
	up := target.Status{
		Scraping:   target.Scraping{Health: target.HealthUp, Samples: 7},
		Assessment: target.Assessment{State: "ready", Severity: "ok"},
	}
	loading := target.Status{
		Scraping:   target.Scraping{Health: target.HealthUp, Samples: 7},
		Assessment: target.Assessment{State: "loading", Severity: "look", StateReason: "why"},
	}
	suspected := target.Status{
		Scraping:   up.Scraping,
		Assessment: target.Assessment{State: "ready", Suspected: true, StateReason: "why"},
	}
	down := target.Status{
		Scraping:   target.Scraping{Health: target.HealthDown, LastReason: "connect", LastError: "connect: refused"},
		Assessment: target.Assessment{State: "down", Severity: "broken"},
	}
	timeout := target.Status{
		Scraping:   target.Scraping{Health: target.HealthDown, LastReason: "timeout", LastError: "timeout: 10s"},
		Assessment: target.Assessment{State: "down", Severity: "broken"},
	}
	unknown := target.Status{
		Scraping:   target.Scraping{Health: target.HealthUnknown},
		Assessment: target.Assessment{State: "down"},
	}
	readyAgain := target.Status{
		Scraping:   target.Scraping{Health: target.HealthDown},
		Assessment: target.Assessment{State: "ready"},
	}
	for _, c := range []struct {
		name        string
		before, now target.Status
		want        string
	}{
		{"nothing changed", up, up, ""},
		{"no change of a down replica", down, down, ""},
		{
			"a state of severity look", up, loading,
			`level=WARN msg="Replica changed state" state=loading was=ready severity=look reason=why url=http://a/m ` +
				`engine=triton samples=7`,
		},
		{
			"a broken state", up, down,
			`level=ERROR msg="Replica changed state" state=down was=ready severity=broken reason="" ` +
				`url=http://a/m failure=connect`,
		},
		{
			"a good state", unknown, up,
			`level=INFO msg="Replica changed state" state=ready was=down severity=ok reason="" url=http://a/m ` +
				`engine=triton samples=7`,
		},
		{
			"another state before the first scrape",
			target.Status{Assessment: target.Assessment{State: "a"}},
			target.Status{Assessment: target.Assessment{State: "b"}},
			`level=INFO msg="Replica changed state" state=b was=a severity="" reason="" url=http://a/m`,
		},
		{
			"up in the same state", readyAgain, up,
			`level=INFO msg="Target is up" url=http://a/m engine=triton samples=7`,
		},
		{
			"down in the same state", unknown, down,
			`level=WARN msg="Target is down" url=http://a/m failure=connect err="connect: refused"`,
		},
		{
			"down for another reason", down, timeout,
			`level=WARN msg="Target is down" url=http://a/m failure=timeout err="timeout: 10s"`,
		},
		{
			"a suspicion begins", up, suspected,
			`level=WARN msg="Replica is suspected" state=ready reason=why url=http://a/m`,
		},
		{"a suspicion stands", suspected, suspected, ""},
		{
			"a suspicion ends", suspected, up,
			`level=INFO msg="Replica is not suspected any more" state=ready reason="" url=http://a/m`,
		},
	} {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
		assess.Announce(log, &c.before, &c.now, "http://a/m", engine.Triton)
		require.Equal(t, c.want, strings.TrimSuffix(text.String(), "\n"), c.name)
	}
}

// withoutTime removes the time from a line.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
