package collector_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Of many replicas that begin together a few at a time get to know their servers, so
// that none is shown without the answers that its labels are made of; servers that
// hang hold up the others for moments only.
func TestManyReplicasBeginAFewAtATime(t *testing.T) {
	t.Parallel()
	const all, each = 400, 120 * time.Millisecond
	atOnce := 16 * runtime.GOMAXPROCS(0)
	hangs := func(page string) bool { return page[len(page)-len("0:1/metrics"):] == "0:1/metrics" }
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		p := &puppet{
			takes: func(page string, n int) time.Duration {
				if hangs(page) {
					return time.Hour
				}
				if n > 1 {
					return 0
				}
				most.Store(max(most.Load(), busy.Add(1)))
				return each
			},
			page: func(string) (string, error) {
				busy.Add(-1)
				return tritonPage, nil
			},
			api: func(ctx context.Context, u *url.URL) (int, string, error) {
				time.Sleep(each / 10)
				return tritonAPI(ctx, u)
			},
		}
		var targets []string
		hanging := 0
		for i := range all {
			targets = append(targets, fmt.Sprintf("r%d=10.0.%d.%d:1|10.0.%d.%d:2", i, i/100, i%100, i/100, i%100))
			if i%10 == 0 {
				hanging++
			}
		}
		l := led(t, p, everySeconds("p", 60, targets...))
		// Each that hangs has a place for a fifth of a second.
		longest := 2*time.Second + 2*each*time.Duration(all/atOnce+1) + time.Duration(hanging/atOnce+1)*200*time.Millisecond
		time.Sleep(longest)
		synctest.Wait()
		page := l.page()
		up := 0
		for i := range all {
			name := fmt.Sprintf("r%d", i)
			if value(page, own("target_up", "p", name)) == 1 {
				up++
			}
		}
		require.Equal(t, all-hanging, up, "up after %s", longest)
		require.Equal(t, 2*up, strings.Count(page, `nv_inference_request_success{engine="triton",engine_version="2.51.0"`), "two models each")
		require.LessOrEqual(t, int(most.Load()), atOnce, "at a time")
		require.GreaterOrEqual(t, int(most.Load()), min(atOnce, 20))
	})
}

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
