package exposition

import (
	"math/bits"
	"slices"
)

// huffman makes the code of an alphabet from how often its symbols come.
type huffman struct {
	// sorted are symbols by how often they come.
	sorted []uint64
	// tree are counts first, then parents, then depths.
	tree []uint32
}

// lengths gives each symbol the length of its code, 0 for those that do not come;
// at least two must. No code is longer than limit.
func (h *huffman) lengths(counts []uint32, limit int, lengths []uint8) {
	clear(lengths)
	h.sorted = h.sorted[:0]
	for symbol, n := range counts {
		if n > 0 {
			h.sorted = append(h.sorted, uint64(n)<<16|uint64(symbol))
		}
	}
	slices.Sort(h.sorted)
	h.tree = h.tree[:0]
	for _, one := range h.sorted {
		h.tree = append(h.tree, uint32(one>>16))
	}
	depths(h.tree)
	bound(h.tree, uint32(limit))
	for i, one := range h.sorted {
		lengths[uint16(one)] = uint8(h.tree[i])
	}
}

// depths replaces counts, in rising order, by the lengths of their codes in a code
// of least size, in place (Moffat and Katajainen 1995).
func depths(a []uint32) {
	n := len(a)
	a[0] += a[1]
	root, leaf := 0, 2
	for next := 1; next < n-1; next++ {
		sum := uint32(0)
		for range 2 {
			if leaf >= n || root < next && a[root] < a[leaf] {
				sum += a[root]
				a[root] = uint32(next)
				root++
			} else {
				sum += a[leaf]
				leaf++
			}
		}
		a[next] = sum
	}
	a[n-2] = 0
	for i := n - 3; i >= 0; i-- {
		a[i] = a[a[i]] + 1
	}
	free, used, depth := 1, 0, uint32(0)
	root, next := n-2, n-1
	for free > 0 {
		for root >= 0 && a[root] == depth {
			used++
			root--
		}
		for free > used {
			a[next] = depth
			next--
			free--
		}
		free, used = 2*used, 0
		depth++
	}
}

// bound shortens codes to a limit, and makes others longer for it. The first is
// of the rarest symbol and the longest.
func bound(lengths []uint32, limit uint32) {
	if lengths[0] <= limit {
		return
	}
	room := uint32(1) << limit
	taken := uint32(0)
	for i := range lengths {
		lengths[i] = min(lengths[i], limit)
		taken += room >> lengths[i]
	}
	for i := 0; taken > room; i++ {
		for lengths[i] < limit && taken > room {
			lengths[i]++
			taken -= room >> lengths[i]
		}
	}
	for i := len(lengths) - 1; i >= 0; i-- {
		for lengths[i] > 1 && taken+room>>lengths[i] <= room {
			taken += room >> lengths[i]
			lengths[i]--
		}
	}
}

// codes are the codes that belong to lengths, with the lengths in the highest
// byte, their first bit the lowest.
func codes(lengths []uint8, codes []uint32) {
	var next [16]uint32
	for _, n := range lengths {
		next[n]++
	}
	code, before := uint32(0), uint32(0)
	for n := 1; n < len(next); n++ {
		code = (code + before) << 1
		before, next[n] = next[n], code
	}
	for symbol, n := range lengths {
		if n == 0 {
			codes[symbol] = 0
			continue
		}
		codes[symbol] = uint32(bits.Reverse16(uint16(next[n])))>>(16-n) | uint32(n)<<24
		next[n]++
	}
}
