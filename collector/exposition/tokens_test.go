package exposition

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	klauspost "github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// encoded is the member of gzip of texts that have tokens.
func encoded(tb testing.TB, all ...*tokens) []byte {
	tb.Helper()
	var d deflater
	var pieces []*piece
	for _, t := range all {
		require.Equal(tb, len(t.text), t.done)
		pieces = append(pieces, newPiece(fingerprint{size: len(t.text)}, crc32.ChecksumIEEE(t.text), d.deflate(t)))
	}
	var page bytes.Buffer
	_, err := newPacked(Gzip, pieces).Write(&page, nil)
	require.NoError(tb, err)
	return page.Bytes()
}

// decoded is what the two libraries read, which is the same.
func decoded(tb testing.TB, packed []byte) string {
	tb.Helper()
	std, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(tb, err)
	one, err := io.ReadAll(std)
	require.NoError(tb, err)
	other, err := klauspost.NewReader(bytes.NewReader(packed))
	require.NoError(tb, err)
	two, err := io.ReadAll(other)
	require.NoError(tb, err)
	require.True(tb, bytes.Equal(one, two), "two readers differ")
	return string(one)
}

// random is text in which little repeats.
func random(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, size, size+overread)
	for i := range text {
		text[i] = byte(r.Uint32N(64)) + ' '
	}
	return text
}

// copying is a text of so many random bytes and then a copy.
func copying(first, distance, length int) *tokens {
	t := &tokens{text: random(7, first)}
	t.literal(first)
	for range length {
		t.text = append(t.text, t.text[len(t.text)-distance])
	}
	t.copy(distance, first+length)
	t.close()
	return t
}

func TestCopiesOfAllLengthsAndDistancesAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, distance := range []int{1, 2, 3, 4, 5, 6, 8, 9, 12, 13, 1024, 1025, 24576, 24577, farthest - 1, farthest} {
		for _, length := range []int{1, 2, 3, 11, 257, 258, 259, 260, 261, 516, 517, 519} {
			tokens := copying(distance, distance, length)
			require.Equal(t, string(tokens.text), decoded(t, encoded(t, tokens)), "%d bytes from %d before", length, distance)
		}
	}
	for length := range 2 * longest {
		for _, distance := range []int{1, 4, 32} {
			tokens := copying(distance, distance, length)
			require.Equal(t, string(tokens.text), decoded(t, encoded(t, tokens)), "%d bytes from %d before", length, distance)
		}
	}
}

// Pieces are put together in any order, and none needs another.
func TestPiecesOfTokensNeedNoOther(t *testing.T) {
	t.Parallel()
	empty := &tokens{}
	empty.close()
	one, two := copying(100, 3, 50), copying(5, 5, 900)
	for _, all := range [][]*tokens{{}, {empty}, {one}, {one, two}, {two, empty, one, one}} {
		var want strings.Builder
		for _, tokens := range all {
			want.Write(tokens.text)
		}
		require.Equal(t, want.String(), decoded(t, encoded(t, all...)))
	}
}

// Codes have no more bits than they may, however unequal the counts are, and
// decoders take them: they leave nothing unused.
func TestCodesAreCompleteAndBounded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var h huffman
	for round := range 600 {
		counts := make([]uint32, 2+r.IntN(literalSymbols-1))
		a, b := uint32(1), uint32(1)
		for i := range counts {
			switch round % 4 {
			case 0: // As unequal as they can be.
				counts[i] = a
				a, b = b, min(a+b, 1<<24)
			case 1:
				counts[i] = 1 << r.IntN(24)
			case 2:
				counts[i] = r.Uint32N(3)
			default:
				counts[i] = 1
			}
		}
		counts[0], counts[1] = max(counts[0], 1), max(counts[1], 1)
		limit := []int{longestCode, longestDistance, 9}[round%3]
		lengths := make([]uint8, len(counts))
		h.lengths(counts, limit, lengths)
		taken := 0
		for i, n := range lengths {
			require.Equal(t, counts[i] > 0, n > 0)
			require.LessOrEqual(t, int(n), limit)
			if n > 0 {
				taken += 1 << (limit - int(n))
			}
		}
		require.Equal(t, 1<<limit, taken, "%v", counts)
	}
}

// FuzzTokens makes texts of literals and copies as the fuzzer says, and reads
// them back.
func FuzzTokens(f *testing.F) {
	f.Add([]byte{0, 9, 0, 1, 5, 3, 1, 0, 200, 2, 4, 0})
	f.Add([]byte(strings.Repeat("\x00\xff\xff\x01\xff\x7f\x02\x03\x04", 40)))
	f.Fuzz(func(t *testing.T, program []byte) {
		var one tokens
		for ; len(program) >= 3 && len(one.text) < 1<<20; program = program[3:] {
			kind, n := program[0], int(program[1])|int(program[2])<<8
			if kind%2 == 0 || len(one.text) == 0 {
				one.text = append(one.text, random(uint64(n), n%300)...)
				one.literal(len(one.text))
				continue
			}
			distance := 1 + n%min(len(one.text), farthest)
			for range 1 + int(kind)*3 {
				one.text = append(one.text, one.text[len(one.text)-distance])
			}
			one.copy(distance, len(one.text))
		}
		one.close()
		require.Equal(t, string(one.text), decoded(t, encoded(t, &one)))
	})
}

// FuzzSearch finds what repeats in any text.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("a 1\nabcdefgh 2\nabcdefgh 3\nabcdefgh 4\n"), uint16(3))
	f.Add(bytes.Repeat([]byte("x"), 100), uint16(50))
	f.Add(append(bytes.Repeat(random(1, 1000), 3), random(2, 100)...), uint16(40000))
	f.Fuzz(func(t *testing.T, text []byte, times uint16) {
		for len(text) > 0 && len(text) < int(times) {
			text = append(text, text[:min(len(text), int(times)-len(text))]...)
		}
		r := repeater{tokens: tokens{text: text}}
		r.close()
		require.Equal(t, string(text), decoded(t, encoded(t, &r.tokens)))
	})
}

// The tool that everybody has reads it too.
func TestGunzipReadsTokens(t *testing.T) {
	t.Parallel()
	gunzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip("gzip is not here")
	}
	all := []*tokens{copying(farthest, farthest, 70000), copying(2, 1, 3), copying(1, 1, 100000)}
	var want bytes.Buffer
	for _, tokens := range all {
		want.Write(tokens.text)
	}
	run := exec.CommandContext(t.Context(), gunzip, "-dc")
	run.Stdin = bytes.NewReader(encoded(t, all...))
	got, err := run.Output()
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got))
}
