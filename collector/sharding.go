package collector

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// ShardingConfig divides the targets among exporters that have the same
// configuration but for their index.
type ShardingConfig struct {
	// Total is how many exporters share the targets.
	Total int `yaml:"total"`
	// Index is which of them this one is, from 0; nil when the command line
	// has to say it.
	Index *int `yaml:"index,omitempty"`
}

// DefaultShardingConfig is one exporter that has all targets.
var DefaultShardingConfig = ShardingConfig{Total: 1}

// UnmarshalYAML reads the configuration over the defaults.
func (c *ShardingConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultShardingConfig
	type plain ShardingConfig
	return unmarshal((*plain)(c))
}

// Validate says which key is wrong and what it may be. An index that is not
// there yet is no mistake; see [ShardingConfig.Place].
func (c *ShardingConfig) Validate() error {
	switch {
	case c.Total < 1:
		return fmt.Errorf("sharding.total: %d exporters have no targets; use 1 or more", c.Total)
	case c.Index != nil && (*c.Index < 0 || *c.Index >= c.Total):
		return fmt.Errorf("sharding.index: %d is not one of the %d of sharding.total; they count from 0 to %d", *c.Index, c.Total, c.Total-1)
	}
	return nil
}

// Place sets the index from a number, or from a name that ends in one after a
// dash, as the pods of a StatefulSet have it. An empty name leaves the index to
// the file, which then has to say it when there is more than one exporter.
func (c *ShardingConfig) Place(name string) error {
	if name == "" {
		if c.Total > 1 && c.Index == nil {
			return errors.New("sharding.index: is not set, so which targets are ours is unknown; set it, or give --sharding.index")
		}
		return nil
	}
	index, err := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 31)
	if err != nil {
		return fmt.Errorf("--sharding.index: %q is no number and does not end in one; write it like 2 or exporter-2", name)
	}
	own := int(index)
	c.Index = &own
	return c.Validate()
}

// shard is the part of the targets that is ours.
type shard struct{ total, index int }

// shard gives the part that the configuration asks for; without an index that
// is everything only when there is one exporter.
func (c *ShardingConfig) shard() (shard, error) {
	if err := c.Place(""); err != nil {
		return shard{}, err
	}
	s := shard{total: max(c.Total, 1)}
	if c.Index != nil {
		s.index = *c.Index
	}
	return s, nil
}

// keeps says whether a target is ours. The key is pool and replica, not the
// address, so a replica keeps its exporter when it moves, and two targets that
// claim one key meet in one exporter, which refuses the second.
func (s shard) keeps(key string) bool {
	if s.total <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return jump(mixed(h.Sum64()), s.total) == s.index
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
