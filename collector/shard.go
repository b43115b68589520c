package collector

import (
	"hash/fnv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// keeps reports whether a target belongs to this exporter. The key consists of pool and replica, not
// the address, so a replica that moves stays with its exporter, and two targets with the same key
// meet in one exporter, which refuses the second.
func keeps(c config.Sharding, key string) bool {
	return c.Total <= 1 || jump(mix(hash(key)), c.Total) == *c.Index
}

func hash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return h.Sum64()
}

// mix spreads a hash over all its bits (the last step of MurmurHash3): with FNV alone,
// names that differ in their last digit stay close together.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// jump is the jump consistent hash of Lamping and Veach (arXiv:1406.2294). Adding or removing a
// shard moves only the targets that it takes over or gives up; a remainder would move nearly all.
func jump(key uint64, total int) int {
	last, next := int64(-1), int64(0)
	for next < int64(total) {
		last = next
		key = key*2862933555777941757 + 1
		next = int64(float64(last+1) * (float64(int64(1)<<31) / float64(key>>33+1)))
	}
	return int(last)
}
