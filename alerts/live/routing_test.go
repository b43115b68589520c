//go:build e2e_live

package live

import (
	"testing"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestAlertmanagerRouting asks amtool, which shares what it compiles with Alertmanager and with nothing else.
func TestAlertmanagerRouting(t *testing.T) {
	t.Parallel()
	amtool := fixture.Program(t, "amtool")
	fixture.Run(t, "..", amtool, "check-config", "alertmanager.yml")
	for _, c := range []struct {
		name     string
		labels   []string
		receiver string
	}{
		{"critical alerts page", []string{"severity=critical", "pool_id=llama-70b-prod"}, "on-call"},
		{
			"alerts of development pools do not page",
			[]string{"severity=critical", "pool_id=llama-70b-dev"},
			"working-day",
		},
		{"warnings are for working hours", []string{"severity=warning", "pool_id=llama-70b-prod"}, "working-day"},
		{"info is not sent", []string{"severity=info", "pool_id=llama-70b-prod"}, "nobody"},
		{"alerts without a pool page", []string{"severity=critical"}, "on-call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fixture.Run(t, "..", amtool, append([]string{
				"config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=" + c.receiver,
			}, c.labels...)...)
		})
	}
}
