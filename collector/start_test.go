package collector_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// However many hang, the others are on the page within two intervals.
func TestReplicasThatHangHoldUpNoStart(t *testing.T) {
	t.Parallel()
	const healthy, seconds = 40, 5
	hanging := 160 * 16 * runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{takes: func(page string, _ int) time.Duration {
			if strings.HasPrefix(page, "http://10.") {
				return time.Hour
			}
			return 20 * time.Millisecond
		}}
		var targets []string
		for i := range hanging + healthy {
			host := fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256)
			if i%(hanging/healthy) == 0 {
				host = fmt.Sprintf("11.0.%d.%d", i/256%256, i%256)
			}
			targets = append(targets, fmt.Sprintf("r%d=%s:1|%s:2", i, host, host))
		}
		l := led(t, p, everySeconds("p", seconds, targets...))
		time.Sleep(2 * seconds * time.Second)
		synctest.Wait()
		up := 0
		for _, slot := range l.store.Slots() {
			if slot.Status().Health == target.HealthUp {
				up++
			}
		}
		require.GreaterOrEqual(t, up, healthy)
	})
}
