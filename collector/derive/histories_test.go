package derive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// TestRulesDependOnShape runs all rules on random histories of all kinds of servers. Whatever the
// values are, a rule must set the series that it set when the index was built, in the same order, and
// ask for nothing but what it asked for then, of signals that it declares.
func TestRulesDependOnShape(t *testing.T) {
	t.Parallel()
	for n, v := range variants() {
		t.Run(fmt.Sprint(v.e.Name, " ", v.has.inside, " ", v.nth), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(n), 7))
			followRules(t, rng, v)
		})
	}
}

// followRules reads the pages of a history and runs each rule on the last one.
func followRules(t *testing.T, rng *rand.Rand, v everything) {
	t.Helper()
	d, cache := v.deriver()
	write := somePages(rng, v)
	for i := range 6 {
		raw, err := cache.Parse(write(i), "", nil)
		require.NoError(t, err)
		d.Derive(time.Duration(i)*5*time.Second, raw, Opened)
	}
	for _, a := range d.index.applied {
		checkRule(t, d, &a)
	}
}

func checkRule(t *testing.T, d *Deriver, a *appliedRule) {
	t.Helper()
	rule := &a.family.rule
	v := *d.view
	v.late = func() {
		require.Fail(t, "asks for numbers only if others have a value: ask for all first", a.family.Name)
	}
	v.asked = func(_ *Model, signal engine.Signal) {
		declared := slices.Contains(rule.also, signal) ||
			slices.ContainsFunc(rule.needs, func(set []engine.Signal) bool { return slices.Contains(set, signal) })
		require.True(t, declared, "%s reads %s, which its rule declares neither in needs "+
			"nor by reads", a.family.Name, signal)
	}
	var again []exposition.ComputedSeries
	rule.run(&v, a.models, &Out{view: &v, series: &again, family: a.family})
	want := d.index.series[a.first:a.last]
	require.Len(t, again, len(want), "%s sets other series on another page", a.family.Name)
	for i := range want {
		require.Equal(t, want[i].Labels, again[i].Labels, "series %d of %s", i, a.family.Name)
	}
}

// somePages returns a function that writes page n with a random part of the series, some of them with
// odd values, and some repeated by another rank.
func somePages(rng *rand.Rand, v everything) func(n int) []byte {
	drop, odd, repeat := []float64{0, 0.02, 0.4}[rng.IntN(3)], []float64{0, 0.1}[rng.IntN(2)], []float64{0, 0.6}[rng.IntN(2)]
	a, b := rng.Uint64(), rng.Uint64()
	return func(n int) []byte {
		choose := rand.New(rand.NewPCG(a, b)) // The same series on each page.
		var page strings.Builder
		for line := range strings.Lines(string(v.page(n))) {
			at := strings.LastIndexByte(line, ' ')
			name, value := line[:at], strings.TrimSpace(line[at+1:])
			if rng.Float64() < odd {
				value = []string{"0", "NaN", "-1", "1e9", "0.5", "3", "+Inf"}[rng.IntN(7)]
			}
			switch again := choose.Float64() < repeat; {
			case strings.HasPrefix(line, "#"):
				page.WriteString(line)
			case choose.Float64() < drop:
			case again && strings.HasSuffix(name, "}") && !strings.HasSuffix(name, "{}") && !strings.Contains(name, "dp_rank"):
				fmt.Fprintln(&page, strings.TrimSuffix(name, "}")+`,dp_rank="1"}`, value)
				fallthrough
			default:
				fmt.Fprintln(&page, name, value)
			}
		}
		return []byte(page.String())
	}
}
