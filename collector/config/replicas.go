package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Replicas is the expected number of replicas: a number, or a range like 2-8. A pool that may be
// scaled to zero has a range from 0.
type Replicas struct{ Min, Max int }

// UnmarshalYAML implements yaml.Unmarshaler: a number or a range.
func (r *Replicas) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	minimum, errMin := strconv.Atoi(strings.TrimSpace(from))
	maximum, errMax := strconv.Atoi(strings.TrimSpace(to))
	if errMin != nil || errMax != nil || minimum < 0 || maximum < minimum {
		return fmt.Errorf("%q is not a number of replicas; write a number like 8, or a range like 2-8", text)
	}
	*r = Replicas{minimum, maximum}
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (r Replicas) MarshalYAML() (any, error) {
	if r.Min == r.Max {
		return r.Min, nil
	}
	return fmt.Sprintf("%d-%d", r.Min, r.Max), nil
}
