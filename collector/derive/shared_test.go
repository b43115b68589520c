package derive

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// benchModels lists the models of the pages of [simulate.BenchPage].
var benchModels = []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}

// fleetTarget is a target of a fleet, with a pair of derivers for each way in which it
// is configured: one that may share its index, and one that never does.
type fleetTarget struct {
	cache *exposition.Cache
	label *exposition.Labeler
	pairs []*twins
	kind  *engine.Kind
	last  *engine.Page
}

// twins are a deriver that may share its index and one that does not, configured alike.
type twins struct {
	shares, alone *Deriver
}

// newFleetTarget returns a target whose pages have identity labels of their own, with a
// pair of derivers for each change of its configuration.
func newFleetTarget(tb testing.TB, replica string, more []string, changes ...func(*Options)) *fleetTarget {
	tb.Helper()
	e, ok := engine.ByName(string(engine.Triton))
	require.True(tb, ok, "triton is a kind")
	own := labels.FromStrings(append([]string{
		"engine",
		"triton", "engine_version", "2.64.0", "pool_id", "p", "replica_id", replica, "trtllm_version", "1.1.0",
	}, more...)...)
	f := &fleetTarget{
		kind:  e,
		cache: exposition.NewCache(exposition.Options{Watch: engine.Watch(e)}),
		label: new(exposition.Labeler(func(lset labels.Labels) exposition.Labeled {
			b := labels.NewBuilder(lset)
			own.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
			return exposition.Labeled{Labels: b.Labels(), Keep: true}
		})),
	}
	for _, change := range changes {
		opts := Options{
			Window: time.Minute, Interval: 5 * time.Second, Engine: e,
			Objectives: []Objective{
				{Name: Availability, Share: 0.99},
				{Name: TTFT, Share: 0.9, Within: 2 * time.Second},
			},
			Naming: Naming{
				Labels: own, EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0", Source: engine.SourceTable,
				Topology: engine.NewTopology(e, engine.NamedModels{Names: benchModels}, nil, nil),
			},
		}
		change(&opts)
		alone := opts
		others := append(slices.Clone(benchModels), fmt.Sprint("not on any page, of ", replica, len(f.pairs)))
		alone.Naming.Topology = engine.NewTopology(e, engine.NamedModels{Names: others}, nil, nil)
		f.pairs = append(f.pairs, &twins{NewDeriver(opts), NewDeriver(alone)})
	}
	return f
}

// follow gives all derivers a page, and calls compare with what each pair shows.
func (f *fleetTarget) follow(
	tb testing.TB,
	now time.Duration,
	body []byte,
	compare func(n int, shared, alone string) bool,
) {
	tb.Helper()
	raw, err := f.cache.Parse(body, "", f.label)
	require.NoError(tb, err)
	if f.last == nil || f.last.Shape() != raw.Shape() {
		f.last = engine.ReadPage(f.kind, raw)
	}
	for n, p := range f.pairs {
		if !compare(n, p.shares.shows(now, raw, f.last), p.alone.shows(now, raw, f.last)) {
			return
		}
	}
}

// shows observes a page and returns all that its derived series show and the deriver reports.
func (d *Deriver) shows(now time.Duration, raw *exposition.Block, page *engine.Page) string {
	var text []byte
	d.Observe(d.Sight(now, raw, page, Reopened))
	b := d.Render(raw)
	for i := range b.Shape().Families() {
		text = b.AppendFamily(text, i)
	}
	if aside := b.Shape().Hidden(); aside != nil {
		for n := range aside.Lines() {
			text = fmt.Appendln(text, aside.Labels(n), b.Number(aside.ValueIndexes([]int{n})[0]))
		}
	}
	return string(fmt.Appendln(text, d.Conditions(time.Unix(0, 0).Add), d.Stats(), d.Objectives(), d.Dropped()))
}

// another returns a page with another shape: a model is missing.
func another(page []byte) []byte {
	return regexp.MustCompile(`(?m)^.*model="postprocessing".*\n`).ReplaceAll(page, nil)
}

// ways lists configurations that change derived series or their labels.
var ways = []struct {
	name   string
	change func(*Options)
}{
	{"as configured by default", func(*Options) {}},
	{"with all aliases", func(o *Options) { o.Aliases = exposition.AliasSets() }},
	{"aliases only", func(o *Options) { o.Aliases, o.AliasesOnly, o.RawHidden = exposition.AliasSets(), true, true }},
	{"without window gauges", func(o *Options) { o.NoWindowGauges = true }},
	{"beside all of the servers' own series", func(o *Options) { o.RawWhole = true }},
	{"with a limit of models", func(o *Options) { o.Output.Models = 2 }},
	{"within the limits", func(o *Options) { o.Output.Volume = exposition.Volume{Series: 5000, Bytes: 10 << 20} }},
	{"above the limits", func(o *Options) { o.Output.Volume = exposition.Volume{Series: 400} }},
	{"with rules", func(o *Options) {
		o.Naming.Relabel = func(lset labels.Labels) exposition.Labeled {
			return exposition.Labeled{
				Labels: labels.NewBuilder(lset).Set("replica_id", "x"+lset.Get("replica_id")).Labels(),
				Keep:   lset.Get("model") != "preprocessing",
			}
		}
	}},
}

// A page is rendered and parsed once for all configurations.
func TestSharedIndexGivesSameValues(t *testing.T) {
	t.Parallel()
	// Each target is configured in every other way.
	var changes [2][]func(*Options)
	for n, c := range ways {
		changes[n%2] = append(changes[n%2], c.change)
	}
	var wait sync.WaitGroup
	for n, own := range [][]string{
		{"r0"},
		{"a longer name"},
		{"r5", "node", "n5"},
		{`r"4\`},
		{"r6", "node", "n6"},
		{"r8", "model", "mine"},
		{"r7", "node", "n6"},
		{"r9", "model", "mine"},
		{"gpu_uuid"},
		{"r10", "state", "odd"},
		{"r11", "gpu_uuid", "mine"},
		{"", "rack", "1"},
	} {
		f := newFleetTarget(t, own[0], own[1:], changes[n%2]...)
		wait.Go(func() {
			tick, gpus := 0, n
			for i := range 24 {
				tick++
				switch i {
				case 11 + n%3:
					tick = 0 // It began again, and has other GPUs since.
					gpus += 100
				case 20:
					f.identify()
				}
				page := simulate.BenchPage(simulate.BenchTRTLLM, gpus, tick)
				if i >= 5+n%4 && i < 10 {
					page = another(page)
				}
				f.follow(t, time.Duration(i+1)*5*time.Second, page, func(way int, shared, alone string) bool {
					name := ways[2*way+n%2].name
					if shared != alone {
						t.Errorf("%s, replica %q, page %d:\n%s", name, own[0], i, firstDifference(shared, alone))
					}
					if !strings.Contains(shared, "llm_server_") && name != "aliases only" {
						t.Errorf("%s, replica %q, page %d shows nothing", name, own[0], i)
					}
					return !t.Failed()
				})
			}
		})
	}
	wait.Wait()
}

// identify identifies the target to all derivers again.
func (f *fleetTarget) identify() {
	for _, p := range f.pairs {
		p.shares.Rename(p.shares.opts.Naming)
		p.alone.Rename(p.alone.opts.Naming)
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return fmt.Sprint(len(x), " lines and ", len(y))
}

func TestIndexIsFreedWithLastTarget(t *testing.T) {
	t.Parallel()
	only := func(o *Options) {
		o.Objectives = []Objective{{Name: E2E, Share: 0.5, Within: 77 * time.Second}}
	}
	indexes := func() (all []weak.Pointer[index]) {
		var held []*fleetTarget
		for n := range 3 {
			f := newFleetTarget(t, fmt.Sprint("replica-", n), nil, only)
			f.follow(
				t,
				time.Second,
				simulate.BenchPage(simulate.BenchTRTLLM, n, 3),
				func(int, string, string) bool { return true },
			)
			held, all = append(held, f), append(all, weak.Make(f.pairs[0].shares.index))
		}
		require.Same(t, held[0].pairs[0].shares.index, held[2].pairs[0].shares.index)
		held = held[2:]
		runtime.GC()
		require.NotNil(t, all[0].Value(), "one target has it still")
		runtime.KeepAlive(held)
		return all
	}
	all := indexes()
	require.Eventually(t, func() bool {
		runtime.GC()
		return all[0].Value() == nil
	}, 5*time.Minute, 10*time.Millisecond)
}
