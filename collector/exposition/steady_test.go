package exposition_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// reader has the pages of one kind made one after the other, as a page that is read
// again and again.
type reader struct {
	coding exposition.Encoding
	format expfmt.Format
	only   func(name string) bool
	packer exposition.Packer
}

// readers are all kinds.
func readers() (all []*reader) {
	for _, coding := range []exposition.Encoding{exposition.Gzip, exposition.Zstd} {
		for _, typ := range []expfmt.FormatType{expfmt.TypeTextPlain, expfmt.TypeOpenMetrics} {
			for _, only := range []func(string) bool{nil, func(name string) bool { return strings.Contains(name, "_gpu_") || strings.HasPrefix(name, "llm_") }} {
				all = append(all, &reader{coding: coding, format: formatOf(typ, model.NoEscaping), only: only})
			}
		}
	}
	return all
}

// read holds the next page against the plain one, and says how many of its pieces are
// known without their text.
func (r *reader) read(t *testing.T, l *exposition.Layout, blocks []*exposition.Block) int {
	t.Helper()
	l = l.In(r.format)
	var plain bytes.Buffer
	_, err := l.WriteText(&plain, blocks, nil, r.only)
	require.NoError(t, err)
	page, err := r.packer.Pack(r.coding, l, blocks, r.only)
	require.NoError(t, err)
	defer page.Release()
	require.Equal(t, plain.String(), unpack(t, r.coding, written(t, page)))
	return r.packer.Steady()
}

// rack makes the computed blocks of many replicas: a family so big that it is in
// several pieces, and one that not everybody has.
type rack []*exposition.Computed

func newRack(n int, why string) (all rack) {
	for i := range n {
		one := labels.FromStrings("replica_id", fmt.Sprint("r", i), "why", why)
		all = append(all, exposition.NewComputed([]exposition.ComputedSeries{
			{Family: exposition.Family{Name: "llm_a", Type: model.MetricTypeGauge}, Labels: one},
			{Family: exposition.Family{Name: "llm_b", Type: model.MetricTypeGauge}, Labels: one},
		}))
	}
	return all
}

// big is a label that makes a family big.
var big = strings.Repeat("so that the family is big ", 10)

// blocks have the values that there are.
func (r rack) blocks(value func(replica, series int) (v float64, ok bool)) (all []*exposition.Block) {
	for i, c := range r {
		b := c.Block()
		for series := range 2 {
			if v, ok := value(i, series); ok {
				b.Set(series, v)
			}
		}
		b.Seal()
		all = append(all, b)
	}
	return all
}

// A page of which a part changes, in values or in what is there at all, is the plain
// page each time, whoever has read which pages before.
func TestASteadyPageIsThePlainOneWhateverChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	targets, rack := fleet(t, 40), newRack(2000, big)
	var m exposition.Merger
	all := readers()
	first, there, steady := 1900, 1.0, 0
	for range 30 {
		switch random.IntN(6) {
		case 0, 1: // Nothing changes.
		case 2:
			require.NoError(t, targets[random.IntN(len(targets))].scrape(random.IntN(6)))
		case 3:
			there = float64(random.IntN(3))
		case 4: // The family has its first line in another piece than its head.
			first = []int{0, 1900, 5000}[random.IntN(3)]
		case 5:
			for _, target := range targets {
				require.NoError(t, target.scrape(random.IntN(6)))
			}
		}
		blocks := rack.blocks(func(replica, series int) (float64, bool) {
			return there * float64(replica), series == 1 || replica >= first
		})
		for _, target := range targets {
			blocks = append(blocks, target.block)
		}
		for _, r := range all {
			if random.IntN(3) > 0 {
				steady += r.read(t, m.Layout(blocks), blocks)
			}
		}
	}
	require.Greater(t, steady, 100)
}

// What stays the same is known after two pages; what changes, what another layout or
// another coding has made unsure, is not.
func TestWhatIsKnownOfSteadyPieces(t *testing.T) {
	t.Parallel()
	rack := newRack(1000, big) // Two families of 300 KB: four pieces.
	value := [2]float64{1, 1}
	blocks := func() []*exposition.Block {
		return rack.blocks(func(_, series int) (float64, bool) { return value[series], true })
	}
	var m exposition.Merger
	r := readers()[0]
	read := func() int {
		all := blocks()
		return r.read(t, m.Layout(all), all)
	}
	require.Equal(t, 0, read(), "the first page")
	require.Equal(t, 4, read(), "the same once more")
	require.Equal(t, 4, read())
	value[1] = 2
	require.Equal(t, 2, read(), "one family has changed")
	require.Equal(t, 4, read())
	rack = newRack(1000, big[1:]+"!")
	require.Equal(t, 0, read(), "other lines with the same values")
	require.Equal(t, 4, read())
	r.coding = exposition.Zstd
	require.Equal(t, 0, read(), "another coding")
	require.Equal(t, 4, read())
}

// Of two families in one piece that have the same values, the one is on the page that is
// asked for.
func TestAnotherSelectionIsAnotherPage(t *testing.T) {
	t.Parallel()
	ones := newRack(20, "").blocks(func(int, int) (float64, bool) { return 1, true })
	var m exposition.Merger
	r := readers()[0]
	for i := range 6 {
		r.only = func(asked string) bool { return asked == []string{"llm_a", "llm_b"}[i/2%2] }
		r.read(t, m.Layout(ones), ones)
	}
}
