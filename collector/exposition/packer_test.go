package exposition_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// everyPage packs the pages of all tests, so that each finds the pieces of
// others, and on all processors.
var everyPage = exposition.ManyWriters()

// requirePacked holds the compressed page of one text in eight against the plain
// one, in all codings.
func requirePacked(tb testing.TB, plain string, l *exposition.Layout, blocks []*exposition.Block, only func(string) bool) {
	tb.Helper()
	if crc32.ChecksumIEEE([]byte(plain))%8 == 0 {
		requireSame(tb, plain, l, blocks, only)
	}
}

// requireSame holds the compressed page against the plain one.
func requireSame(tb testing.TB, plain string, l *exposition.Layout, blocks []*exposition.Block, only func(string) bool) {
	tb.Helper()
	for _, coding := range []exposition.Encoding{exposition.Gzip, exposition.Zstd} {
		packed, err := everyPage.Pack(coding, l, blocks, only)
		require.NoError(tb, err)
		require.Equal(tb, plain, unpack(tb, coding, written(tb, packed)), coding)
	}
}

// written is the page as it is sent, which is as long as it says, in writes of about
// 128 KiB.
func written(tb testing.TB, packed *exposition.Packed) []byte {
	tb.Helper()
	w := countedWrites{}
	_, err := packed.Write(&w, nil)
	require.NoError(tb, err)
	require.Equal(tb, packed.Len(), w.Len())
	require.LessOrEqual(tb, w.writes, 2+w.Len()/(64<<10))
	return w.Bytes()
}

// countedWrites counts the writes.
type countedWrites struct {
	bytes.Buffer

	writes int
}

func (w *countedWrites) Write(b []byte) (int, error) {
	w.writes++
	return w.Buffer.Write(b)
}

// unpacker is one decoder for all tests.
var unpacker = sync.OnceValue(func() *zstd.Decoder {
	z, err := zstd.NewReader(nil)
	if err != nil {
		panic(err)
	}
	return z
})

// unpack undoes a coding: of gzip one member, to its end.
func unpack(tb testing.TB, coding exposition.Encoding, packed []byte) string {
	tb.Helper()
	if coding == exposition.Zstd {
		text, err := unpacker().DecodeAll(packed, nil)
		require.NoError(tb, err)
		return string(text)
	}
	r := bytes.NewReader(packed)
	z, err := gzip.NewReader(r)
	require.NoError(tb, err)
	z.Multistream(false)
	text, err := io.ReadAll(z)
	require.NoError(tb, err)
	require.Zero(tb, r.Len(), "bytes after the one member")
	return string(text)
}

// fleet are targets that differ in replica_id and values.
func fleet(tb testing.TB, n int) []*benchTarget {
	tb.Helper()
	all := make([]*benchTarget, n)
	for i := range all {
		t := &benchTarget{label: labelReplica(fmt.Sprint("r", i))}
		for tick := range t.bodies {
			t.bodies[tick] = simulate.BenchPage(simulate.BenchTRTLLM, i, tick)
		}
		t.cache = exposition.NewCache(exposition.Options{Label: t.label, Limits: exposition.DefaultLimits})
		require.NoError(tb, t.scrape(0))
		all[i] = t
	}
	return all
}

func TestPackedPagesOfAFleetAreThePlainOnes(t *testing.T) {
	t.Parallel()
	targets := fleet(t, 80)
	var m exposition.Merger
	for tick := range 6 {
		var blocks []*exposition.Block
		for i, target := range targets {
			if i%5 < tick {
				require.NoError(t, target.scrape(tick))
			}
			blocks = append(blocks, target.block)
		}
		for _, format := range []expfmt.Format{formatOf(expfmt.TypeTextPlain, model.NoEscaping), formatOf(expfmt.TypeOpenMetrics, model.NoEscaping)} {
			for _, only := range []func(string) bool{nil, func(name string) bool { return strings.HasPrefix(name, "nv_gpu") }, func(string) bool { return false }} {
				l := m.Layout(blocks).In(format)
				var plain bytes.Buffer
				_, err := l.WriteText(&plain, blocks, nil, only)
				require.NoError(t, err)
				requireSame(t, plain.String(), l, blocks, only)
			}
		}
	}
}

// What is the same on the next page is not compressed again, what is not is, and
// what is on no page is not kept.
func TestPiecesOfTheLastPageServeTheNext(t *testing.T) {
	t.Parallel()
	targets := fleet(t, 80)
	var m exposition.Merger
	var p exposition.Packer
	pack := func() map[*byte]bool {
		var blocks []*exposition.Block
		for _, target := range targets {
			blocks = append(blocks, target.block)
		}
		_, err := p.Pack(exposition.Gzip, m.Layout(blocks), blocks, nil)
		require.NoError(t, err)
		return p.Kept()
	}
	first := pack()
	require.Greater(t, len(first), 10)
	require.Equal(t, first, pack())
	for _, target := range targets {
		require.NoError(t, target.scrape(1))
	}
	same, other := 0, 0
	for piece := range pack() {
		if first[piece] {
			same++
		} else {
			other++
		}
	}
	require.NotZero(t, same, "constants of the fleet")
	require.NotZero(t, other, "what every scrape changes")
	targets = targets[:1]
	require.Less(t, len(pack()), len(first))
}

func TestPagesArePackedForSeveralAtTheSameTime(t *testing.T) {
	t.Parallel()
	targets := fleet(t, 10)
	var m exposition.Merger
	var blocks []*exposition.Block
	for _, target := range targets {
		blocks = append(blocks, target.block)
	}
	l := m.Layout(blocks)
	var p exposition.Packer
	var all sync.WaitGroup
	packed := make([]*exposition.Packed, 8)
	for i := range packed {
		all.Go(func() { packed[i], _ = p.Pack(exposition.Gzip, l, blocks, nil) })
	}
	all.Wait()
	for i := range packed {
		require.Equal(t, written(t, packed[0]), written(t, packed[i]))
	}
}

// Pages that are made and released meanwhile change no byte of a page that somebody
// holds.
func TestAPageStaysAsItIsUntilItIsReleased(t *testing.T) {
	t.Parallel()
	targets := fleet(t, 20)
	var m exposition.Merger
	var p exposition.Packer
	type held struct {
		page *exposition.Packed
		text []byte
	}
	var pages []held
	for round := range 60 {
		var blocks []*exposition.Block
		for i, target := range targets {
			if (i+round)%3 == 0 {
				require.NoError(t, target.scrape(round%6))
			}
			blocks = append(blocks, target.block)
		}
		coding := []exposition.Encoding{exposition.Gzip, exposition.Zstd}[round/7%2]
		page, err := p.Pack(coding, m.Layout(blocks), blocks, nil)
		require.NoError(t, err)
		pages = append(pages, held{page, written(t, page)})
		if round%4 == 3 { // One of them is held for the rest, three are not.
			at := len(pages) - 4
			for _, one := range pages[at+1:] {
				one.page.Release()
			}
			pages = pages[:at+1]
		}
	}
	require.Len(t, pages, 15)
	for _, one := range pages {
		require.True(t, bytes.Equal(one.text, written(t, one.page)))
	}
}
