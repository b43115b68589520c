package scrape

import (
	"fmt"

	"github.com/alecthomas/units"
)

// Size is a number of bytes, written with a unit as in 16MiB.
type Size int64

// The units in which sizes are given here.
const (
	kibibyte Size = 1 << 10
	mebibyte Size = 1 << 20
)

// String writes the size with its unit.
func (s Size) String() string { return units.Base2Bytes(s).String() }

// UnmarshalYAML reads a number with a unit; 0 needs none.
func (s *Size) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	if text == "0" {
		*s = 0
		return nil
	}
	size, err := units.ParseBase2Bytes(text)
	if err != nil || size < 0 {
		return fmt.Errorf("%q is not a size; write a number with a unit, such as 16MiB", text)
	}
	*s = Size(size)
	return nil
}

// MarshalYAML writes the size with its unit.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }
