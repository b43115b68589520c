package exposition

import "fmt"

// Raw says which of the servers' own series are exposed.
type Raw string

// Values of Raw. Unmapped series are those that no llm_server_* series repeats.
const (
	RawAll      Raw = "true"
	RawNone     Raw = "false"
	RawUnmapped Raw = "unmapped"
)

// UnmarshalYAML implements yaml.Unmarshaler: true, false or unmapped.
func (r *Raw) UnmarshalYAML(unmarshal func(any) error) error {
	var all bool
	if err := unmarshal(&all); err == nil {
		*r = RawNone
		if all {
			*r = RawAll
		}
		return nil
	}
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	if text != string(RawUnmapped) {
		return fmt.Errorf("%q is not true, false or unmapped", text)
	}
	*r = RawUnmapped
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (r Raw) MarshalYAML() (any, error) {
	if r == RawUnmapped {
		return string(r), nil
	}
	return r == RawAll, nil
}

// Without returns the shape without the lines of some values. Blocks of the shape get it with [Block.In].
func (s *Shape) Without(leftOut func(ValueIndex) bool) *Shape {
	rest := *s
	rest.families, rest.lines, rest.indexes = nil, nil, nil
	for i := range s.families {
		f := s.families[i]
		first := len(rest.lines)
		for n := f.first; n < f.end; n++ {
			if !leftOut(ValueIndex(s.indexes[n])) {
				rest.lines, rest.indexes = append(rest.lines, s.lines[n]), append(rest.indexes, s.indexes[n])
			}
		}
		if f.first, f.end = first, len(rest.lines); f.end > f.first {
			rest.families = append(rest.families, f)
		}
	}
	rest.interned = [...]any{&rest.families, &rest.lines, &rest.indexes}
	return &rest
}

// In returns the block with a shape that has the same values, such as that of [Shape.Without].
func (b *Block) In(s *Shape) *Block {
	other := *b
	other.shape = s
	return &other
}
