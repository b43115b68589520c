package derive

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// The models of the pages: an LLM that streams, and one that Triton batches itself.
const llm, resnet = "llm", "resnet"

// everything is a target of a kind with all its meanings. If several names have one meaning, as
// in several releases, page n has the nth of them.
type everything struct {
	e        *engine.Kind
	nth      int
	naming   Naming
	meanings map[string][]engine.Meaning
	has      server
	// only holds the signals on the page; nil means all.
	only []engine.Signal
}

// variants returns targets whose pages cover every meaning of every kind of server.
func variants() []everything {
	var all []everything
	for _, has := range servers() {
		e, _ := engine.ByName(string(has.kind))
		widest := 0
		meanings := meaningsOf(e, has.inside)
		for _, same := range meanings {
			widest = max(widest, len(same))
		}
		facts := []engine.ModelFacts{
			{Name: llm, State: "READY", Configured: true, Backend: "tensorrtllm", Decoupled: true},
			{Name: resnet, State: "READY", Configured: true, Backend: "onnxruntime"},
		}
		for nth := range widest {
			all = append(all, everything{e: e, nth: nth, meanings: meanings, has: has, naming: Naming{
				Labels:        labels.FromStrings("pool_id", "p", "replica_id", "r"),
				EngineVersion: "1", TRTLLMVersion: "1", Source: engine.SourceConfig,
				Topology: engine.NewTopology(e, engine.NamedModels{
					Names:  []string{llm, resnet},
					Inside: has.inside,
				}, facts, nil),
			}})
		}
	}
	return all
}

// promised returns all objectives, with a target that is a bound on the pages.
func promised() []Objective {
	var all []Objective
	for _, name := range []ObjectiveName{TTFT, TPOT, ITL, E2E, Availability} {
		all = append(all, Objective{Name: name, Within: time.Second, Share: 0.9})
	}
	return all
}

// meaningsOf returns the meanings of a kind by the series that they become, those of an
// engine inside first: a page belongs to one server.
func meaningsOf(e *engine.Kind, inside engine.Name) map[string][]engine.Meaning {
	same := make(map[string][]engine.Meaning)
	all := e.Meanings()
	slices.SortStableFunc(
		all,
		func(a, b engine.Meaning) int { return strings.Compare(string(b.Inside), string(a.Inside)) },
	)
	for _, m := range all {
		if m.Inside != "" && m.Inside != inside {
			continue
		}
		key := fmt.Sprint(m.Signal, m.Const, m.Dims)
		same[key] = append(same[key], m)
	}
	return same
}

// page returns the nth page.
func (v everything) page(n int) []byte {
	var b strings.Builder
	var needed []string // Names without which some do not mean this.
	for _, key := range slices.Sorted(maps.Keys(v.meanings)) {
		m := v.meanings[key][v.nth%len(v.meanings[key])]
		for _, e := range m.Unless {
			if e.Lacking {
				needed = append(needed, e.Name)
			}
		}
		switch {
		case v.only != nil && !slices.Contains(v.only, m.Signal):
		case m.Scope() == engine.OfServer:
			writeMeaning(&b, &m, "", "", n)
		case m.Scope() == engine.OfModel:
			writeMeaning(&b, &m, resnet, "1", n)
			writeMeaning(&b, &m, resnet, "2", n)
			// Rules for tokens of requests require a single version, because these cover all
			// versions.
			if !slices.Contains(v.only, engine.RequestOutputTokens) {
				writeMeaning(&b, &m, llm, "2", n)
			}
			fallthrough
		default:
			writeMeaning(&b, &m, llm, "1", n)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(needed))) {
		if !strings.Contains(b.String(), "\n"+name+"{") {
			fmt.Fprintf(&b, "%s 5\n", name)
		}
	}
	return []byte(b.String())
}

// writeMeaning writes the series of one meaning for a version of a model.
func writeMeaning(b *strings.Builder, m *engine.Meaning, kind, version string, n int) {
	var pairs []string
	if kind != "" {
		pairs = append(pairs, fmt.Sprintf("model=%q,version=%q", kind, version))
	}
	given := make(map[string]bool)
	for _, where := range m.Where {
		switch {
		case where.Method == engine.Differs:
			continue
		case where.Method == engine.StartsWith:
			pairs = append(pairs, fmt.Sprintf("%s=%q", where.Label, where.Value+"00"))
		case where.Value != "":
			pairs = append(pairs, fmt.Sprintf("%s=%q", where.Label, where.Value))
		}
		given[where.Label] = true
	}
	for _, where := range m.Where {
		if !given[where.Label] {
			given[where.Label] = true
			pairs = append(pairs, where.Label+`="any other"`)
		}
	}
	for _, dim := range m.Dims {
		if !given[dim.Theirs] {
			pairs = append(pairs, fmt.Sprintf("%s=%q", dim.Theirs, classified(m)))
		}
	}
	write := func(suffix string, v float64, more ...string) {
		fmt.Fprintf(b, "%s%s{%s} %v\n", m.Name, suffix, strings.Join(append(more, pairs...), ","), v)
	}
	unit, requests := math.Pow10(m.Shift), float64(100*(n+1))
	switch m.Form() {
	case engine.Single:
		write("", unit*single(m, requests))
		return
	case engine.Histogram:
		fmt.Fprintf(b, "# TYPE %s histogram\n", m.Name)
		write("_bucket", requests/2, fmt.Sprintf("le=%q", fmt.Sprint(unit)))
		write("_bucket", requests, `le="+Inf"`)
	case engine.Summary:
		fmt.Fprintf(b, "# TYPE %s summary\n", m.Name)
		for _, q := range percentages() {
			write("", unit, fmt.Sprintf(`quantile="%v"`, q.of100/100))
		}
	}
	mean := map[engine.Signal]float64{engine.RequestDuration: 2, engine.RequestOutputTokens: 50}[m.Signal]
	write("_sum", unit*max(mean, 0.4)*requests)
	write("_count", requests)
}

// classified returns a value of a label, a reason with a known class if there is one.
func classified(m *engine.Meaning) string {
	switch {
	case m.Outcome != nil && m.Outcome.Codes:
		return "500"
	case m.Outcome != nil && m.Outcome.Usual == engine.ClassUnknown:
		return slices.Sorted(maps.Keys(m.Outcome.Of))[0]
	}
	return "7"
}

// single returns the value of a signal after some requests of 2 seconds each.
func single(m *engine.Meaning, requests float64) float64 {
	values := map[engine.Signal]float64{
		engine.KVBlocksUsed:        30,
		engine.KVBlocksFree:        70,
		engine.KVBlocksLimit:       100,
		engine.KVUtilization:       0.3,
		engine.RequestsActive:      8,
		engine.RequestsRunning:     4,
		engine.RequestsLimit:       64,
		engine.ModelRequestSeconds: 2 * requests,
	}
	switch v, ok := values[m.Signal]; {
	case ok:
		return v
	case m.Signal.Type().Counter:
		return requests
	case m.Signal.IsShare():
		return 0.3
	}
	return 5
}

// derived caches the series of targets: the same signals are enough for many families,
// and several tests ask for them.
var derived sync.Map

// series returns what [everything.derive] does, computed once for all tests.
func (v everything) series(t *testing.T) map[string][]labels.Labels {
	t.Helper()
	once, _ := derived.LoadOrStore(fmt.Sprint(v.e.Name, v.nth, v.only == nil, v.only),
		sync.OnceValue(func() map[string][]labels.Labels { return v.derive(t) }))
	return once.(func() map[string][]labels.Labels)()
}

// deriver returns what derives its series, and what parses its pages.
func (v everything) deriver() (*Deriver, *exposition.Cache) {
	return NewDeriver(Options{
		Window:     time.Minute,
		Interval:   5 * time.Second,
		Engine:     v.e,
		Naming:     v.naming,
		Objectives: promised(),
	}), exposition.NewCache(exposition.Options{Watch: engine.Watch(v.e)})
}

// derive reads seven pages, since some rules compare pages, and returns the series that
// have a value by the name of their family.
func (v everything) derive(t *testing.T) map[string][]labels.Labels {
	t.Helper()
	d, cache := v.deriver()
	var out *exposition.Block
	for n := range 7 {
		raw, err := cache.Parse(v.page(n), "", nil)
		require.NoError(t, err)
		out = d.Derive(time.Duration(n)*5*time.Second, raw, Kept)
	}
	series := make(map[string][]labels.Labels)
	for i := range out.Shape().Lines() {
		if _, ok := out.Value(i); ok {
			lset := out.Shape().Labels(i)
			name := lset.Get(model.MetricNameLabel)
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			series[name] = append(series[name], lset)
		}
	}
	return series
}

func TestCatalogMatchesServers(t *testing.T) {
	t.Parallel()
	fed := make(map[engine.Name]map[string][]labels.Labels)
	for _, v := range variants() {
		if fed[v.e.Name] == nil {
			fed[v.e.Name] = make(map[string][]labels.Labels)
		}
		for name, series := range v.series(t) {
			fed[v.e.Name][name] = append(fed[v.e.Name][name], series...)
		}
		for _, f := range Catalogue() {
			// A signal may hide others that make series with more labels.
			for _, v := range alone(v, &f) {
				if !slices.Contains(f.Engines, v.e.Name) {
					continue
				}
				fed[v.e.Name][f.Name] = append(fed[v.e.Name][f.Name], v.series(t)[f.Name]...)
			}
		}
	}
	for _, f := range Catalogue() {
		if !f.rule.runs() {
			continue
		}
		names := make(map[string]bool)
		for kind, series := range fed {
			require.Equal(t, slices.Contains(f.Engines, kind), len(series[f.Name]) > 0, "%s of %s", f.Name, kind)
			for _, lset := range series[f.Name] {
				lset.Range(func(l labels.Label) { names[l.Name] = true })
			}
		}
		for _, name := range []string{model.MetricNameLabel, "pool_id", "replica_id", "le", "quantile"} {
			delete(names, name)
		}
		require.Equal(t, f.Labels, slices.Sorted(maps.Keys(names)), f.Name)
	}
}

// alone returns targets whose pages have only the signals that a family needs, of a kind that has
// them. ModelSuccess is kept, because a model without it is not loaded.
func alone(v everything, f *Family) []everything {
	var all []everything
	for _, set := range f.rule.needs {
		if v.nth > 0 || !f.rule.runs() {
			break
		}
		v.only = append([]engine.Signal{engine.ModelSuccess}, set...)
		if slices.Contains(set, engine.EngineRanks) {
			continue // Only several pages show that ranks share nothing.
		}
		if slices.Contains(set, engine.FailuresCounted) {
			v.only = nil // The series that show it differ between kinds.
		}
		if allOf(set...).met(func(s engine.Signal) bool { return v.has.signals[s] != nil }) {
			all = append(all, v)
		}
	}
	return all
}

// TestFamiliesAreDescribed checks among others that only gauges have a query: counters
// and histograms stay on the page.
func TestFamiliesAreDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range Catalogue() {
		require.Regexp(t, `^[^ ].+\.$`, f.Help, f.Name)
		require.NotEmpty(t, f.Formula, f.Name)
		require.NotEmpty(t, f.Engines, f.Name)
		require.Equal(t, f.Type == model.MetricTypeCounter, strings.HasSuffix(f.Name, "_total"), f.Name)
		require.NotEqual(t, f.InPromQL.Query == "", f.InPromQL.Why == "", "%s: say queried or because", f.Name)
		if f.InPromQL.Query != "" {
			require.Equal(t, model.MetricTypeGauge, f.Type, f.Name)
			require.NotContains(t, f.InPromQL.Query, f.Name+"[", f.Name)
		}
	}
}
