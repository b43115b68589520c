package discovery_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// script is a discoverer controlled by a test.
type script struct{ name chan []*targetgroup.Group }

func newScript() *script { return &script{make(chan []*targetgroup.Group)} }

func (s *script) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	for {
		select {
		case <-ctx.Done():
			return
		case g, ok := <-s.name:
			if !ok {
				return
			}
			select {
			case <-ctx.Done():
				return
			case up <- g:
			}
		}
	}
}

func group(source string, addresses ...string) *targetgroup.Group {
	g := &targetgroup.Group{Source: source}
	for _, a := range addresses {
		g.Targets = append(g.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(a)})
	}
	return g
}

// running returns a Manager over scripts inside a bubble of fake time.
func running(t *testing.T, static []*targetgroup.Group, scripts ...promdiscovery.Discoverer) *seen {
	t.Helper()
	return runningWith(t, promslog.NewNopLogger(), static, scripts...)
}

func runningWith(
	t *testing.T,
	logger *slog.Logger,
	static []*targetgroup.Group,
	scripts ...promdiscovery.Discoverer,
) *seen {
	t.Helper()
	m, s := discovery.NewOf(logger, static, scripts...), &seen{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { m.Run(ctx, s.add) })
	t.Cleanup(wg.Wait)
	t.Cleanup(cancel)
	synctest.Wait()
	return s
}

// settled waits until changes are merged.
func settled() {
	time.Sleep(discovery.Settle)
	synctest.Wait()
}

func TestStaticTargetsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := running(t, []*targetgroup.Group{group("", "a:1", "b:1"), {
			Targets: []model.LabelSet{{"__address__": "c:1"}}, Labels: model.LabelSet{"rack": "r1"},
		}})
		require.Equal(t, []string{"a:1{}", "b:1{}", `c:1{rack="r1"}`}, s.last())
		time.Sleep(time.Hour)
		require.Equal(t, 1, s.count())
	})
}

func TestNothingIsSentBeforeFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := newScript()
		s := running(t, nil, silent)
		time.Sleep(time.Hour)
		require.Zero(t, s.count())
		silent.name <- nil
		settled()
		require.Equal(t, []string{}, s.last())
	})
}

func TestSourcesAreMergedInFixedOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newScript(), newScript()
		s := running(t, []*targetgroup.Group{group("", "s:1")}, one, two)
		two.name <- []*targetgroup.Group{group("z", "z:2"), group("a", "a:2")}
		one.name <- []*targetgroup.Group{group("z", "z:1"), group("a", "b:1", "a:1")}
		settled()
		require.Equal(t, []string{"s:1{}", "a:1{}", "b:1{}", "z:1{}", "a:2{}", "z:2{}"}, s.last())
		require.Equal(t, 2, s.count())
	})
}

func TestSimultaneousChangesAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sd := newScript()
		s := running(t, nil, sd)
		for _, source := range []string{"0", "1", "2", "3", "4"} {
			sd.name <- []*targetgroup.Group{group(source, source+":1")}
			time.Sleep(discovery.Settle / 10)
		}
		require.Zero(t, s.count())
		settled()
		require.Equal(t, 1, s.count())
		require.Len(t, s.last(), 5)
	})
}

func TestConstantChangesAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sd := newScript()
		s := running(t, nil, sd)
		for i := range 100 {
			sd.name <- []*targetgroup.Group{group("0", string(rune('A'+i))+":1")}
			time.Sleep(discovery.Settle / 10)
		}
		synctest.Wait()
		require.Greater(t, s.count(), 8)
	})
}

func TestChangesAreReported(t *testing.T) {
	type answer = []*targetgroup.Group
	numbered := func(n ...model.LabelValue) *targetgroup.Group {
		g := &targetgroup.Group{Source: "0"}
		for _, v := range n {
			g.Targets = append(g.Targets, model.LabelSet{"__address__": "a:1", "n": v})
		}
		return g
	}
	for name, c := range map[string]struct {
		answers []answer
		want    []string
		updates int
	}{
		"the same in another order": {
			[]answer{
				{group("0", "a:1", "b:1"), group("gone"), nil},
				{group("0", "b:1", "a:1")},
				{group("0", "a:1", "b:1")},
			}, []string{"a:1{}", "b:1{}"}, 1,
		},
		"other labels":   {[]answer{{numbered("2", "1")}, {numbered("3")}}, []string{`a:1{n="3"}`}, 2},
		"equal but one":  {[]answer{{numbered("2", "1")}}, []string{`a:1{n="1"}`, `a:1{n="2"}`}, 1},
		"an empty group": {[]answer{{group("0", "a:1"), group("1", "b:1")}, {group("0")}}, []string{"b:1{}"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sd := newScript()
				s := running(t, nil, sd)
				for _, a := range c.answers {
					sd.name <- a
					settled()
				}
				require.Equal(t, c.want, s.last())
				require.Equal(t, c.updates, s.count())
			})
		})
	}
}

// quitter returns at each start but the last.
type quitter struct {
	failures int
	starts   []time.Time
}

func (q *quitter) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	q.starts = append(q.starts, time.Now())
	if len(q.starts) <= q.failures {
		return
	}
	up <- []*targetgroup.Group{group("0", "a:1")}
	<-ctx.Done()
}

func TestStoppedSourceIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := &quitter{failures: 2}, newScript()
		var log bytes.Buffer
		s := runningWith(t, slog.New(slog.NewTextHandler(&log, nil)), nil, q, other)
		other.name <- []*targetgroup.Group{group("0", "b:1")}
		settled()
		require.Equal(t, []string{"b:1{}"}, s.last())
		time.Sleep(2 * discovery.Restart)
		settled()
		require.Equal(t, []string{"a:1{}", "b:1{}"}, s.last())
		require.Len(t, q.starts, 3)
		require.Equal(t, discovery.Restart, q.starts[1].Sub(q.starts[0]))
		require.Contains(t, log.String(), "fake_sd_configs[0]")
	})
}

func TestStopBetweenRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quitter{failures: 9}
		running(t, nil, q)
		require.Len(t, q.starts, 1)
	})
}

// stubborn sends forever and ignores its context.
type stubborn struct{}

func (stubborn) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	for ctx.Err() == nil {
		select {
		case up <- []*targetgroup.Group{group(time.Now().String(), "a:1")}:
		case <-ctx.Done():
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRunEndsWhileSourceSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := running(t, nil, stubborn{}, stubborn{})
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotZero(t, s.count())
	})
}
