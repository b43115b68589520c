package exposition

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEqualListsAreInternedWhileReferenced(t *testing.T) {
	t.Parallel()
	k := &Interner[uint64, []line]{}
	list := func(end uint32) []line { return []line{{end: 1, cut1: 1}, {end: end, cut1: 2, local1: 7}} }
	size := func() int {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.values)
	}
	a, b, other := intern(k, list(5)), intern(k, list(5)), intern(k, list(6))
	require.Same(t, a, b)
	require.NotSame(t, a, other)
	require.Equal(t, list(5), *b)
	require.Equal(t, list(6), *other)
	require.Equal(t, 2, size())
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	require.Eventually(t, func() bool {
		runtime.GC()
		return size() == 1
	}, 5*time.Minute, time.Millisecond, "what no shape has is forgotten")
	require.Same(t, other, intern(k, list(6)))
	runtime.KeepAlive(other)
}
