package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Replicas is how many replicas a pool should have: a number, or a range as in
// 2-8. One that begins with 0 is of a pool that may be scaled away.
type Replicas struct{ least, most int }

// Bounds are the least and the most replicas.
func (r *Replicas) Bounds() (least, most int) { return r.least, r.most }

// UnmarshalYAML reads a number or a range.
func (r *Replicas) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	least, errLeast := strconv.Atoi(strings.TrimSpace(from))
	most, errMost := strconv.Atoi(strings.TrimSpace(to))
	if errLeast != nil || errMost != nil || least < 0 || most < least {
		return fmt.Errorf("%q is not a number of replicas; write a number like 8, or a range like 2-8", text)
	}
	*r = Replicas{least, most}
	return nil
}

// MarshalYAML writes what was read.
func (r Replicas) MarshalYAML() (any, error) {
	if r.least == r.most {
		return r.least, nil
	}
	return fmt.Sprintf("%d-%d", r.least, r.most), nil
}
