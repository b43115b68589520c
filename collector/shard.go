package collector

import (
	"hash/fnv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// shard is the part of the targets that is ours: of so many, the one with the
// index, from 0.
type shard struct{ Total, Index int }

// shardOf gives the part that the configuration asks for; without an index that
// is everything only when there is one exporter.
func shardOf(c config.Sharding) (shard, error) {
	if err := c.Place(""); err != nil {
		return shard{}, err
	}
	s := shard{Total: max(c.Total, 1)}
	if c.Index != nil {
		s.Index = *c.Index
	}
	return s, nil
}

// keeps reports whether a target is ours. The key is pool and replica, not the
// address, so a replica keeps its exporter when it moves, and two targets that
// claim one key meet in one exporter, which refuses the second.
func (s shard) keeps(key string) bool {
	if s.Total <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return jump(mixed(h.Sum64()), s.Total) == s.Index
}

// mixed spreads a hash over all its bits (the last step of MurmurHash3), since
// FNV alone leaves names that differ in their last digit close together.
func mixed(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// jump is the jump consistent hash of Lamping and Veach (arXiv:1406.2294): of
// the targets only those move that the added shard takes, or the removed one
// leaves. A plain remainder would move nearly all of them.
func jump(key uint64, total int) int {
	last, next := int64(-1), int64(0)
	for next < int64(total) {
		last = next
		key = key*2862933555777941757 + 1
		next = int64(float64(last+1) * (float64(int64(1)<<31) / float64(key>>33+1)))
	}
	return int(last)
}
