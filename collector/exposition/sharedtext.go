package exposition

import (
	"slices"
	"strings"
	"unique"
)

// localLabels are the labels by which replicas of a pool differ. The text of a family does not
// contain their values, so that most replicas share it: with a thousand replicas, separate texts
// would take most of the memory and of the CPU caches.
//
//nolint:gochecknoglobals // constant data.
var localLabels = [...]string{"replica_id", LabelGPU}

// LabelGPU is the label that distinguishes GPUs, also on the pages of servers.
const LabelGPU = "gpu_uuid"

// maxLocal limits the local values of a replica. Further values stay in the shared text.
const maxLocal = 64

// addLocal returns the number, from 1, of a value in a list, adding it if needed; 0 if the list
// is full.
func addLocal[T string | []byte](list *[]string, value T) int {
	for i, other := range *list {
		if other == string(value) {
			return i + 1
		}
	}
	if len(*list) == maxLocal {
		return 0
	}
	*list = append(*list, unique.Make(string(value)).Value())
	return len(*list)
}

// line is one series. Its prefix is the text of its family from start to end, with local values
// inserted at cut1 and cut2; a cut at end inserts nothing.
type line struct {
	start, cut1, cut2, end uint32
	local1, local2         uint16
}

func (s *segment) appendPrefix(dst []byte, l *line) []byte {
	dst = append(dst, s.text[l.start:l.cut1]...)
	if l.cut1 < l.end {
		dst = append(append(dst, s.local[l.local1]...), s.text[l.cut1:l.cut2]...)
		if l.cut2 < l.end {
			dst = append(append(dst, s.local[l.local2]...), s.text[l.cut2:l.end]...)
		}
	}
	return dst
}

type textBuilder struct {
	local []string
	text  []byte
}

// newTextBuilder returns a builder with the local values of the series, sorted like the
// lines of a family.
func newTextBuilder(all []series) *textBuilder {
	t := &textBuilder{}
	for _, label := range localLabels {
		first := len(t.local)
		for i := range all {
			if value, _ := labelValue(all[i].prefix, label); value != "" {
				addLocal(&t.local, value)
			}
		}
		slices.Sort(t.local[first:])
	}
	t.local = slices.Clip(t.local)
	return t
}

// add appends the prefix of a line to the text of the family.
func (t *textBuilder) add(prefix string) (l line) {
	l.start = uint32(len(t.text))
	from, cuts := 0, [...]*uint32{&l.cut1, &l.cut2}
	numbers, found := [...]*uint16{&l.local1, &l.local2}, 0
	// Labels are sorted, and so must the cuts be: gpu_uuid precedes replica_id.
	for i := len(localLabels) - 1; i >= 0; i-- {
		value, start := labelValue(prefix, localLabels[i])
		number := slices.Index(t.local, value)
		if value == "" || number < 0 || start < from {
			continue
		}
		t.text = append(t.text, prefix[from:start]...)
		*cuts[found], *numbers[found] = uint32(len(t.text)), uint16(number)
		found++
		from = start + len(value)
	}
	t.text = append(t.text, prefix[from:]...)
	l.end = uint32(len(t.text))
	for ; found < len(cuts); found++ {
		*cuts[found] = l.end
	}
	return l
}

// family returns the text of the lines added since the last family.
func (t *textBuilder) family() unique.Handle[string] {
	text := unique.Make(string(t.text))
	t.text = t.text[:0]
	return text
}

// labelValue returns the escaped value of a label of a prefix and its position; empty
// if there is none.
func labelValue(prefix, label string) (value string, start int) {
	for from := 0; ; {
		found := strings.Index(prefix[from:], label)
		if found < 1 {
			return "", 0
		}
		from += found + len(label)
		previous := prefix[from-len(label)-1]
		if (previous == '{' || previous == ',') && strings.HasPrefix(prefix[from:], `="`) {
			start = from + len(`="`)
			if value = upToQuote(prefix[start:]); start+len(value) < len(prefix) {
				return value, start
			}
			return "", 0 // The value of another label ends like the name of this one.
		}
	}
}

// upToQuote returns an escaped text up to its closing quote.
func upToQuote[T string | []byte](text T) T {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i]
		}
	}
	return text
}
