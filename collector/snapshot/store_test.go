package snapshot_test

import (
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// source creates blocks of two series with equal values; different values on a page come
// from two blocks.
type source struct {
	out *exposition.Shape
}

func newSource(family, replica string) *source {
	f := exposition.Family{Name: family, Type: model.MetricTypeGauge}
	return &source{out: exposition.NewComputed([]exposition.ComputedSeries{
		{Family: f, Labels: labels.FromStrings("r", replica, "side", "left")},
		{Family: f, Labels: labels.FromStrings("r", replica, "side", "right")},
	}, nil)}
}

// block returns a block with a value.
func (s *source) block(v float64) *exposition.Block {
	b := s.out.Block()
	b.Set(0, v)
	b.Set(1, v)
	return b
}

// text returns the lines of blocks.
func text(blocks []*exposition.Block) string {
	var b []byte
	for _, block := range blocks {
		b = block.AppendFamily(b, 0)
	}
	return string(b)
}

// pageOf returns the page of the store.
func pageOf(s *snapshot.Store, filter func(*target.Target) bool) string {
	return text(s.Blocks(filter))
}

func replica(pool, name string) *target.Target {
	return &target.Target{PoolID: pool, ReplicaID: name, MetricsURL: "http://" + name + ":8002/metrics"}
}

// add adds a slot.
func add(t *testing.T, s *snapshot.Store, tgt *target.Target) *snapshot.Slot {
	t.Helper()
	slot, err := s.Add(tgt)
	require.NoError(t, err)
	return slot
}

func TestReplicasAreSortedByKey(t *testing.T) {
	s := snapshot.NewStore()
	require.Empty(t, s.Slots())
	require.Empty(t, pageOf(s, nil))
	for _, name := range []string{"c", "a", "d", "b"} {
		slot := add(t, s, replica("p", name))
		slot.Publish(snapshot.Snapshot{Raw: newSource("x", name).block(1)})
	}
	add(t, s, replica("o", "z")).Publish(snapshot.Snapshot{Raw: newSource("x", "first").block(1)})
	var names []string
	for _, slot := range s.Slots() {
		names = append(names, slot.Target().Key())
	}
	require.Equal(t, []string{"o/z", "p/a", "p/b", "p/c", "p/d"}, names)
	page := pageOf(s, nil)
	last := -1
	for _, name := range []string{`"first"`, `"a"`, `"b"`, `"c"`, `"d"`} {
		i := strings.Index(page, name)
		require.Greater(t, i, last, name)
		last = i
	}
}

func TestSecondReplicaWithSameNameIsRefused(t *testing.T) {
	s := snapshot.NewStore()
	slot := add(t, s, replica("p", "a"))
	add(t, s, replica("p", "b")).Publish(snapshot.Snapshot{Raw: newSource("x", "b").block(1)})
	before, news := pageOf(s, nil), s.Changes()
	slot.SetTarget(&target.Target{PoolID: "p", ReplicaID: "a", MetricsURL: "http://a:8002/metrics?key=hunter2"})
	_, err := s.Add(&target.Target{PoolID: "p", ReplicaID: "a", MetricsURL: "http://other"})
	require.ErrorContains(
		t, err, "replica p/a already exists at http://a:8002/metrics: give one of the two another replica_id",
	)
	require.Equal(t, before, pageOf(s, nil), "the page stays the same")
	require.Equal(t, news, s.Changes())
	s.Remove(slot)
	add(t, s, replica("p", "a"))
}

func TestFilter(t *testing.T) {
	s := snapshot.NewStore()
	for _, name := range []string{"a", "b"} {
		add(t, s, replica(name, "r")).Publish(snapshot.Snapshot{Raw: newSource("x", name).block(1)})
	}
	s.PublishFleet(newSource("fleet", "all").block(1))
	require.Regexp(t, `^fleet\{`, pageOf(s, nil), "the fleet comes first")
	only := pageOf(s, func(t *target.Target) bool { return t.PoolID == "b" })
	require.Equal(t, "x{r=\"b\",side=\"left\"} 1\nx{r=\"b\",side=\"right\"} 1\n", only)
	s.PublishFleet(nil)
	require.NotContains(t, pageOf(s, nil), "fleet")
}

func TestBlocksHaveFixedOrder(t *testing.T) {
	s := snapshot.NewStore()
	slot := add(t, s, replica("p", "a"))
	require.Empty(t, pageOf(s, nil), "a replica without a scrape has no blocks")
	require.Nil(t, slot.Derived())
	slot.Publish(snapshot.Snapshot{
		Raw:     newSource("raw", "a").block(1),
		Derived: newSource("derived", "a").block(1),
		About:   newSource("about", "a").block(1),
		Health:  newSource("health", "a").block(1),
		Status:  target.Status{Scraping: target.Scraping{Health: target.HealthUp, Scrapes: 1}},
	})
	require.Equal(t, []string{"raw", "derived", "about", "health"}, families(pageOf(s, nil)))
	moved, before, derived := replica("p", "a"), s.Blocks(nil), slot.Derived()
	slot.SetTarget(moved)
	require.Same(t, moved, slot.Target())
	require.Equal(t, before, s.Blocks(nil), "another address changes nothing on the page")
	require.Equal(t, target.HealthUp, slot.Status().Health)
	slot.Publish(snapshot.Snapshot{
		About:  newSource("about", "a").block(2),
		Health: newSource("health", "a").block(2),
		Status: target.Status{Scraping: target.Scraping{Health: target.HealthDown, Scrapes: 2}},
	})
	require.Equal(
		t, []string{"about", "health"}, families(pageOf(s, nil)), "a failure removes the replica's series at once",
	)
	require.Equal(t, target.HealthDown, slot.Status().Health)
	require.EqualValues(t, 2, slot.Status().Scrapes)
	require.Nil(t, slot.Derived())
	require.Equal(t, []string{"raw", "derived", "about", "health"}, families(text(before)), "a reader keeps its blocks")
	require.Equal(t, before[1], derived)
}

// families returns the names on the page, each once, in their order.
func families(page string) []string {
	var names []string
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(line, "{")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

func TestRemovedReplicaPublishesNothing(t *testing.T) {
	s := snapshot.NewStore()
	src := newSource("x", "a")
	slot := add(t, s, replica("p", "a"))
	slot.Publish(snapshot.Snapshot{Raw: src.block(1)})
	s.Remove(slot)
	require.Empty(t, pageOf(s, nil))
	require.Zero(t, slot.Status())
	news := s.Changes()
	slot.Publish(snapshot.Snapshot{Raw: src.block(2)})
	require.Equal(t, news, s.Changes())
	require.Empty(t, pageOf(s, nil))
	// Removing it again does not remove its successor.
	next := add(t, s, replica("p", "a"))
	next.Publish(snapshot.Snapshot{Raw: src.block(3)})
	s.Remove(slot)
	require.Contains(t, pageOf(s, nil), "} 3\n")
}

// Readers get complete replicas during scrapes and reloads.
func TestConcurrentReadersAndReplicas(t *testing.T) {
	s := snapshot.NewStore()
	end := time.Now().Add(300 * time.Millisecond)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		src := newSource("x", name)
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				slot, err := s.Add(replica("p", name))
				if err != nil {
					t.Errorf("adding: %v", err)
					return
				}
				for range 20 {
					slot.Publish(snapshot.Snapshot{
						Raw:    src.block(float64(i)),
						Status: target.Status{Scraping: target.Scraping{Scrapes: uint64(i)}},
					})
					slot.SetTarget(replica("p", name))
				}
				s.Remove(slot)
			}
		})
	}
	fleet := newSource("fleet", "all")
	all.Go(func() {
		for i := 0; time.Now().Before(end); i++ {
			s.PublishFleet(fleet.block(float64(i)))
		}
	})
	for range 3 {
		all.Go(func() {
			for time.Now().Before(end) {
				v := s.Blocks(nil)
				page := text(v)
				remaining := ""
				for line := range strings.Lines(page) {
					_, number, _ := strings.Cut(line, "} ")
					if strings.Contains(line, `side="left"`) {
						remaining = number
					} else if remaining != number {
						t.Errorf("a block changed while it was read:\n%s", page)
						return
					}
				}
				for _, slot := range s.Slots() {
					_, _ = slot.Status(), slot.Target()
				}
			}
		})
	}
	all.Wait()
}

func TestChangesOtherThanNumbersAreReported(t *testing.T) {
	store := snapshot.NewStore()
	before := store.Changes()
	slot, err := store.Add(&target.Target{PoolID: "p", ReplicaID: "r"})
	require.NoError(t, err)
	require.NotEqual(t, before, store.Changes(), "a replica was added")

	ready := target.Status{
		Scraping:   target.Scraping{Health: target.HealthUp},
		Assessment: target.Assessment{State: "ready"},
		Canary:     &target.Canary{Result: "ok"},
	}
	with := func(change func(*target.Status)) target.Status {
		s := ready
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		next target.Status
		news bool
	}{
		{"the first scrape", ready, true},
		{"the same status", ready, false},
		{"an equal canary", with(func(s *target.Status) { s.Canary = &target.Canary{Result: "ok"} }), false},
		{
			"numbers and times",
			with(func(s *target.Status) { s.Scrapes, s.Samples, s.LastScrape = 5, 7, time.Unix(5, 0) }), false,
		},
		{"a canary that fails", with(func(s *target.Status) { s.Canary = &target.Canary{Result: "failed"} }), true},
		{"no canary", with(func(s *target.Status) { s.Canary = nil }), true},
		{"other facts", with(func(s *target.Status) { s.Canary, s.FactsVersion = nil, 1 }), true},
		{
			"another reason", with(func(s *target.Status) { s.Canary, s.FactsVersion, s.StateReason = nil, 1, "why" }),
			true,
		},
		{"a failure", target.Status{Scraping: target.Scraping{Health: target.HealthDown, LastError: "no"}}, true},
		{
			"the same failure, later",
			target.Status{Scraping: target.Scraping{Health: target.HealthDown, LastError: "no"}},
			true,
		},
	} {
		seen := store.Changes()
		slot.Publish(snapshot.Snapshot{Status: c.next})
		require.Equal(t, c.news, store.Changes() != seen, c.name)
	}

	seen := store.Changes()
	store.Remove(slot)
	require.NotEqual(t, seen, store.Changes(), "a replica left")
}

func TestReplicasAreLimitedByMemory(t *testing.T) {
	before := debug.SetMemoryLimit(64 << 20)
	defer debug.SetMemoryLimit(before)
	s := snapshot.NewStore()
	var refused error
	n := 0
	for ; refused == nil && n < 10_000; n++ {
		_, refused = s.Add(&target.Target{PoolID: "p", ReplicaID: strconv.Itoa(n)})
	}
	require.ErrorContains(t, refused, "the memory limit allows no more than 2048 replicas")
	require.Len(t, s.Slots(), 2048)
	s.Remove(s.Slots()[0])
	_, err := s.Add(&target.Target{PoolID: "p", ReplicaID: "later"})
	require.NoError(t, err)
}
