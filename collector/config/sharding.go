package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sharding distributes the targets over exporters whose configurations differ only in the index.
type Sharding struct {
	// Total is the number of exporters that share the targets.
	Total int `yaml:"total"`
	// Index is the index of this exporter, from 0; nil if the command line sets it.
	Index *int `yaml:"index,omitempty"`
}

// DefaultSharding is a single exporter with all targets.
var DefaultSharding = Sharding{Total: 1}

// Validate returns an error for each invalid key. The index may still be missing; see
// [Sharding.Place].
func (c *Sharding) Validate() error {
	var errs keyErrors
	errs.addIf(c.Total < 1, "sharding.total: %d is below 1; use 1 or more", c.Total)
	if c.Index != nil {
		errs.addIf(*c.Index < 0 || c.Total >= 1 && *c.Index >= c.Total, "sharding.index: %d is out of range; it "+
			"must be at least 0 and below sharding.total, which is %d", *c.Index, c.Total)
	}
	return errors.Join(errs...)
}

// Place sets the index from a number, or from a name that ends in a dash and a number like the
// pods of a StatefulSet. With an empty name, the index must already be set if there are several
// exporters.
func (c *Sharding) Place(name string) error {
	if name == "" {
		if c.Total > 1 && c.Index == nil {
			return fmt.Errorf("sharding.index: is not set, and sharding.total is %d; set it, or give "+
				"--sharding.index", c.Total)
		}
		return nil
	}
	index, err := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 31)
	if err != nil {
		return fmt.Errorf("--sharding.index: %q is not a number and does not end in one; write it like 2 "+
			"or exporter-2", name)
	}
	c.Index = new(int(index))
	return c.Validate()
}
