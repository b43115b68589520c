package exposition

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleasedBlocksServeOtherTargets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ values, released, kept int }{
		{0, 10, 10}, {1, 10, 10}, {226, 100, 100}, {500, 1000, 128}, {1000, 1000, 64}, {8000, 100, 8}, {8192, 10, 0}, {1 << 20, 1, 0},
	} {
		t.Run(fmt.Sprintf("%d values", tc.values), func(t *testing.T) {
			t.Parallel()
			p := &blockPools{}
			held := make(map[*Block]bool)
			for range tc.released {
				b := p.get(tc.values)
				b.shape, b.spans = &Shape{}, make([]Span, tc.values)
				require.False(t, held[b], "a block has one holder")
				held[b] = true
			}
			for b := range held {
				b.Release()
			}
			kept := 0
			for range tc.released {
				b := p.get(tc.values)
				require.Nil(t, b.Shape())
				require.Zero(t, b.Size())
				if held[b] {
					delete(held, b)
					kept++
				}
			}
			require.Equal(t, tc.kept, kept)
		})
	}
}

func TestABlockOfAnotherTargetHasNothingOfIt(t *testing.T) {
	t.Parallel()
	large, small := NewCache(Options{}), NewCache(Options{})
	page := func(c *Cache, body string) string {
		b := c.Block()
		defer b.Release()
		require.NoError(t, c.Parse(b, []byte(body), ""))
		return shown(t, b)
	}
	for range 3 {
		require.Equal(t, "a 1\nb 2\nc 3\n", page(large, "a 1\nb 2\nc 3\n"))
		require.Equal(t, "x 7\ny 8\n", page(small, "x 7\ny 8\n"))
	}
}

func TestASeriesThatIsComputedIsAbsentInABlockOfAnotherTarget(t *testing.T) {
	t.Parallel()
	of := func(names ...string) *Computed {
		var all []ComputedSeries
		for _, name := range names {
			all = append(all, ComputedSeries{Family: Family{Name: name}})
		}
		return NewComputed(all)
	}
	for range 3 {
		b := of("a", "b", "c").Block()
		b.Set(0, 1)
		b.Set(2, 3)
		b.Seal()
		require.Equal(t, "a 1\nc 3\n", shown(t, b))
		b.Release()
		b = of("x", "y").Block()
		b.Set(1, 2)
		b.Seal()
		require.Equal(t, "y 2\n", shown(t, b))
		b.Release()
	}
}
