package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Sharding divides the targets among exporters that have the same
// configuration but for their index.
type Sharding struct {
	// Total is how many exporters share the targets.
	Total int `yaml:"total"`
	// Index is which of them this one is, from 0; nil when the command line
	// has to say it.
	Index *int `yaml:"index,omitempty"`
}

// DefaultSharding is one exporter that has all targets.
var DefaultSharding = Sharding{Total: 1}

// Validate says which key is wrong and what it may be. An index that is not
// there yet is no mistake; see [Sharding.Place].
func (c *Sharding) Validate() error {
	switch {
	case c.Total < 1:
		return fmt.Errorf("sharding.total: %d is below 1; use 1 or more", c.Total)
	case c.Index != nil && (*c.Index < 0 || *c.Index >= c.Total):
		return fmt.Errorf("sharding.index: %d is out of range; it must be at least 0 and below sharding.total, which is %d", *c.Index, c.Total)
	}
	return nil
}

// Place sets the index from a number, or from a name that ends in one after a
// dash, as the pods of a StatefulSet have it. An empty name leaves the index to
// the file, which then has to say it when there is more than one exporter.
func (c *Sharding) Place(name string) error {
	if name == "" {
		if c.Total > 1 && c.Index == nil {
			return fmt.Errorf("sharding.index: is not set, and sharding.total is %d; set it, or give --sharding.index", c.Total)
		}
		return nil
	}
	index, err := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 31)
	if err != nil {
		return fmt.Errorf("--sharding.index: %q is not a number and does not end in one; write it like 2 or exporter-2", name)
	}
	own := int(index)
	c.Index = &own
	return c.Validate()
}
