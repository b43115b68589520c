package collector_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Of 5000 targets a third hang, are slow or refuse; the others are scraped on
// time, each of them in every interval.
func TestP10OfFiveThousandTargetsTheDeadDelayNobody(t *testing.T) {
	t.Parallel()
	if raced || !wholeProduct() {
		t.Skip("make faults runs it, without the race detector")
	}
	const many, interval = 5000, 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		kind := make(map[string]int, many)
		for i := range many {
			address := fmt.Sprintf("10.%d.%d.%d:8002", i>>16, i>>8&255, i&255)
			targets = append(targets, fmt.Sprintf("r%d=%s|%s", i, address, address))
			kind["http://"+address+"/metrics"] = i % 10
		}
		p := &puppet{
			takes: func(page string, _ int) time.Duration {
				switch kind[page] {
				case 0:
					return time.Hour // It hangs until the timeout.
				case 1:
					return interval - time.Second
				default:
					return 5 * time.Millisecond
				}
			},
			page: func(page string) (string, error) {
				if kind[page] == 2 {
					return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
				}
				return tritonPage, nil
			},
		}
		began := time.Now()
		l := led(t, p, everySeconds("p", int(interval/time.Second), targets...))
		const rounds = 3
		time.Sleep((rounds + 1) * interval)
		for page, k := range kind {
			times := p.times(page)
			if k > 1 {
				require.GreaterOrEqual(t, len(times), rounds, "%s, kind %d", page, k)
			}
			// The first comes at once, the others in their places in the interval.
			for i := 2; i < len(times) && k > 2; i++ {
				require.InDelta(t, interval.Seconds(), times[i].Sub(times[i-1]).Seconds(), interval.Seconds()/10)
			}
			require.Less(t, times[0].Sub(began), interval)
		}
		up := 0
		for _, slot := range l.store.Slots() {
			if slot.Status().LastSuccess.After(time.Now().Add(-interval - time.Second)) {
				up++
			}
		}
		require.GreaterOrEqual(t, up, many*7/10, "the healthy ones have a page of the last interval")
	})
}
