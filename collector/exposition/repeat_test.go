package exposition

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// madeFleet makes the blocks of a fleet: of up to four kinds of page, with values
// that are absent, the same or the same at their beginning, names of all lengths, and
// names and types on which targets disagree.
type madeFleet struct {
	*rand.Rand

	kinds, long int
	values      []string
}

// newMadeFleet makes a fleet that is another for each seed.
func newMadeFleet(seed uint64) *madeFleet {
	r := rand.New(rand.NewPCG(seed, 9))
	values := []string{"0", "17", "123456", "1234567", "12345678", "123456789", "1753462474140189", "1753462474140190", "1.5e-9", "NaN", "-1", "+Inf", "0.30000000000000004"}
	return &madeFleet{r, 1 + r.IntN(4), []int{1, 3, 20, 400, 9000}[r.IntN(5)], values[:1+r.IntN(len(values))]}
}

// value is the text of a value.
func (f *madeFleet) value() string { return f.values[f.IntN(len(f.values))] }

// body is the page of one server.
func (f *madeFleet) body(odd bool) string {
	kind := f.IntN(f.kinds)
	var body strings.Builder
	for family := range 1 + kind {
		fmt.Fprintf(&body, "# HELP f%d of kind %d\n# TYPE f%d %s\n", family, kind, family, []string{"gauge", "counter", "untyped", "gauge"}[kind])
		for line := range 1 + (family*5+kind)%8 {
			gpu := ""
			if family%2 == 1 {
				gpu = fmt.Sprintf(",gpu_uuid=\"GPU-%x\"", f.Uint64N(1<<(8*uint(1+f.IntN(7)))))
			}
			fmt.Fprintf(&body, "f%d{model=\"m%d\",v=\"%s\"%s} %s\n", family, line, strings.Repeat("x", 50*family), gpu, f.value())
		}
	}
	if odd {
		body.WriteString("a 1\n{\"odd.name\"} " + f.value() + "\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_count 2\nh_sum 3\n")
	} else if kind == 3 {
		body.WriteString("h_count " + f.value() + "\n")
	}
	return body.String()
}

// computed is a block of which some values are absent.
func (f *madeFleet) computed(replica string) *Block {
	var all []ComputedSeries
	for i := range 6 {
		family := Family{Name: fmt.Sprint("computed", i/2), Help: "Some.", Type: model.MetricTypeGauge}
		all = append(all, ComputedSeries{Family: family, Labels: labels.FromStrings("replica_id", replica, "which", strconv.Itoa(i%2))})
	}
	b := NewComputed(all).Block()
	for i := range all {
		if f.IntN(3) > 0 {
			b.Set(i, float64(f.IntN(200)))
		}
	}
	b.Seal()
	return b
}

// blocks are those of so many replicas.
func (f *madeFleet) blocks(t *testing.T, replicas int) (all []*Block) {
	t.Helper()
	for i := range replicas {
		replica := strings.Repeat("r", 1+f.IntN(f.long)) + strconv.Itoa(i)
		all = append(all, showing(t, replica, f.body(i%7 == 3)), f.computed(replica))
	}
	return all
}

// requireRepeats holds a page that is encoded without a search where it can be, and
// one that is packed, against the plain one.
func requireRepeats(t *testing.T, l *Layout, blocks []*Block, only func(string) bool) {
	t.Helper()
	var plain bytes.Buffer
	_, err := l.WriteText(&plain, blocks, nil, only)
	require.NoError(t, err)
	var pieces []*tokens
	for _, one := range l.stretches() {
		var r repeater
		if !newContent(l, blocks, only).repeatPiece(&r, one) {
			r.reset()
			r.text = newContent(l, blocks, only).appendPiece(r.text, one)
			r.close()
		}
		pieces = append(pieces, &r.tokens)
	}
	require.Equal(t, plain.String(), decoded(t, encoded(t, pieces...)))
	var p Packer
	for range 2 {
		packed, err := p.Pack(Gzip, l, blocks, only)
		require.NoError(t, err)
		var page bytes.Buffer
		_, err = packed.Write(&page, nil)
		require.NoError(t, err)
		require.Equal(t, plain.String(), decoded(t, page.Bytes()))
	}
}

// dialectsAndParts are of readers whose pages differ in their lines, and parts those that
// are asked for.
func dialectsAndParts() (dialects []expfmt.Format, parts []func(string) bool) {
	dialects = []expfmt.Format{
		expfmt.NewFormat(expfmt.TypeTextPlain).WithEscapingScheme(model.NoEscaping),
		expfmt.NewFormat(expfmt.TypeTextPlain).WithEscapingScheme(model.UnderscoreEscaping),
		expfmt.NewFormat(expfmt.TypeOpenMetrics).WithEscapingScheme(model.ValueEncodingEscaping),
	}
	parts = []func(string) bool{nil, func(name string) bool { return strings.HasSuffix(name, "1") }, func(string) bool { return false }}
	return dialects, parts
}

// Pages of fleets of all kinds, encoded without a search, are the plain ones in
// every dialect, as a whole and in parts.
func TestLinesThatRepeatAreThoseOfThePlainPage(t *testing.T) {
	t.Parallel()
	dialects, parts := dialectsAndParts()
	for seed := range uint64(8) {
		blocks := newMadeFleet(seed).blocks(t, int(seed)*5)
		var m Merger
		l := m.Layout(blocks)
		for _, dialect := range dialects {
			for _, only := range parts {
				requireRepeats(t, l.In(dialect), blocks, only)
			}
		}
	}
}

// FuzzRepeats does so of any fleet, in one dialect and part.
func FuzzRepeats(f *testing.F) {
	dialects, parts := dialectsAndParts()
	for seed := range uint8(9) {
		f.Add(uint64(seed), seed*2, seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64, replicas, way uint8) {
		blocks := newMadeFleet(seed).blocks(t, int(replicas%20))
		var m Merger
		dialect, only := dialects[int(way)%len(dialects)], parts[int(way)/len(dialects)%len(parts)]
		requireRepeats(t, m.Layout(blocks).In(dialect), blocks, only)
	})
}

// The same line is found again as far back as a copy reaches, and not behind it:
// names get longer by a byte, so that each line is three bytes farther.
func TestLinesAreFoundAsFarAsCopiesReach(t *testing.T) {
	t.Parallel()
	near := farthest/3 - 45
	var found []bool
	for size := near; size < near+25; size++ {
		var blocks []*Block
		for i := range 3 {
			blocks = append(blocks, showing(t, strconv.Itoa(i)+strings.Repeat("r", size), "x{gpu_uuid=\"A\"} 1\nx{gpu_uuid=\"B\"} 2\n"))
		}
		var m Merger
		l := m.Layout(blocks)
		requireRepeats(t, l, blocks, nil)
		var r repeater
		newContent(l, blocks, nil).repeatPiece(&r, l.stretches()[0])
		found = append(found, r.searched < 3*size)
	}
	last := slices.Index(found, false)
	require.Positive(t, last, "lines that are near are not searched")
	require.NotContains(t, found[last:], true)
}

// A family of many replicas is known to repeat, one of replicas that have nothing in
// common is not, nor is a page of one.
func TestPiecesWithoutRepeatsAreSearched(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("y", 200)
	for _, tc := range []struct {
		name     string
		replicas int
		body     func(i int) string
		repeats  bool
	}{
		{"one shape", 200, func(int) string { return "x{a=\"" + label + "\"} 1\n" }, true},
		{"two shapes", 200, func(i int) string { return fmt.Sprintf("x{a=\"%s%d\"} 1\n", label, i%2) }, true},
		{"four shapes", 200, func(i int) string { return fmt.Sprintf("x{a=\"%s%d\"} 1\n", label, i%4) }, true},
		{"all different", 2000, func(i int) string { return fmt.Sprintf("x{a=\"%s%d\"} 1\n", label, i) }, false},
		{"one replica", 1, func(int) string { return "x{a=\"" + label + "\"} 1\n" }, false},
	} {
		var blocks []*Block
		for i := range tc.replicas {
			blocks = append(blocks, showing(t, strconv.Itoa(i), tc.body(i)))
		}
		var m Merger
		l := m.Layout(blocks)
		piece := l.stretches()[0]
		require.Equal(t, tc.repeats, mayRepeat(piece) && newContent(l, blocks, nil).repeatPiece(&repeater{}, piece), tc.name)
	}
}
