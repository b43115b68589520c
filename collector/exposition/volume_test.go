package exposition_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestLargestFamiliesAreDroppedFirst(t *testing.T) {
	family := func(name string, series int) string {
		var b strings.Builder
		for i := range series {
			fmt.Fprintf(&b, "%s{x=\"%d\"} 1\n", name, i)
		}
		return b.String()
	}
	page := family("small", 2) + family("large", 50) + family("middle", 10) + "alone 1\n"
	for _, c := range []struct {
		name    string
		page    string
		limit   exposition.Volume
		kept    []string
		leftOut exposition.LeftOut
	}{
		{"no bound", page, exposition.Volume{}, []string{"alone", "large", "middle", "small"}, exposition.LeftOut{}},
		{
			"room for all", page,
			exposition.Volume{Series: 63},
			[]string{"alone", "large", "middle", "small"},
			exposition.LeftOut{},
		},
		{
			"one series too many", page,
			exposition.Volume{Series: 62},
			[]string{"alone", "middle", "small"},
			exposition.LeftOut{Series: 50, Families: 1, Names: []string{"large"}},
		},
		{
			"room for few", page,
			exposition.Volume{Series: 5},
			[]string{"alone", "small"},
			exposition.LeftOut{Series: 60, Families: 2, Names: []string{"large", "middle"}},
		},
		{
			"room for none", page,
			exposition.Volume{Bytes: 10},
			nil,
			exposition.LeftOut{Series: 63, Families: 4, Names: []string{"large", "middle", "small"}},
		},
		{
			"bytes", page,
			exposition.Volume{Bytes: 1000},
			[]string{"alone", "middle", "small"},
			exposition.LeftOut{Series: 50, Families: 1, Names: []string{"large"}},
		},
		{
			"a huge HELP", "# HELP a " + strings.Repeat("h", 5000) + "\na 1\nb 1\n",
			exposition.Volume{Bytes: 1000},
			[]string{"b"},
			exposition.LeftOut{Series: 1, Families: 1, Names: []string{"a"}},
		},
		{
			"of equal ones the first by name", "b 1\na 1\n",
			exposition.Volume{Series: 1},
			[]string{"b"},
			exposition.LeftOut{Series: 1, Families: 1, Names: []string{"a"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := exposition.NewCache(exposition.Options{Limits: exposition.Limits{Output: c.limit}})
			for i, body := range []string{c.page, strings.ReplaceAll(c.page, " 1\n", " 25\n")} {
				require.Equal(t, i > 0, cache.Fast(body), "leaving out does not cost the fast path")
				b, err := parseWith(t, cache, body, "")
				require.NoError(t, err)
				var kept []string
				for i := range b.Shape().Families() {
					kept = append(kept, b.Shape().Families()[i].Name)
				}
				require.Equal(t, c.kept, kept)
				require.Equal(t, c.leftOut, b.Shape().LeftOut())
				require.Len(t, sampleLines(render(t, &exposition.Merger{}, b)), b.Shape().Lines())
			}
		})
	}
}

// TestLimitHoldsForEscapedNames compares the size of random pages with their limit: escaped names
// make lines longer.
func TestLimitHoldsForEscapedNames(t *testing.T) {
	full := 0
	for seed := range uint64(200) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 3)), conflicting: true, partial: seed%2 > 0}
		limit := exposition.Volume{Series: 1 + g.IntN(60), Bytes: 100 + g.IntN(6000)}
		b := parse(t, exposition.Options{Limits: exposition.Limits{Output: limit}}, g.page(), replicaLabel("x"))
		if b.Shape().LeftOut().Series > 0 {
			full++
		}
		require.LessOrEqual(t, b.Shape().Lines(), limit.Series)
		for _, scheme := range escapings() {
			page := pageIn(t, scheme, b)
			require.LessOrEqual(t, len(page), limit.Bytes, "seed %d, %s\n%s", seed, scheme, page)
		}
	}
	require.Greater(t, full, 50, "the limits are too small for many pages")
}

func TestRemainingVolume(t *testing.T) {
	for _, c := range []struct {
		name              string
		limit, used, left exposition.Volume
	}{
		{"no limit", exposition.Volume{}, exposition.Volume{Series: 5, Bytes: 50}, exposition.Volume{}},
		{
			"a part is used",
			exposition.Volume{Series: 10, Bytes: 100},
			exposition.Volume{Series: 4, Bytes: 40},
			exposition.Volume{Series: 6, Bytes: 60},
		},
		{
			"0 would mean no limit",
			exposition.Volume{Series: 10, Bytes: 100},
			exposition.Volume{Series: 10, Bytes: 200},
			exposition.Volume{Series: 1, Bytes: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.left, c.limit.Remaining(c.used))
		})
	}
}

func TestCostIsThatOfWhatIsKept(t *testing.T) {
	const body = "a{x=\"1\"} 1\na{x=\"2\"} 2\n{\"b.c\"} 3\n"
	for _, c := range []struct {
		name   string
		output exposition.Volume
		want   exposition.Cost
	}{
		{"all of it", exposition.Volume{}, exposition.Cost{Names: 2, Series: 3, Text: 23}},
		{"fewer series", exposition.Volume{Series: 1}, exposition.Cost{Names: 1, Series: 1, Text: 23}},
		{"less text", exposition.Volume{Bytes: 12}, exposition.Cost{Names: 1, Series: 1, Text: 12}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := exposition.NewCache(exposition.Options{Limits: exposition.Limits{Output: c.output}})
			page, err := cache.Read([]byte(body), "", nil)
			require.NoError(t, err)
			require.Equal(t, c.want, page.Cost())
			require.GreaterOrEqual(t, page.Cost().Bytes(), int64(c.want.Text))
		})
	}
}
