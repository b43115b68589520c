package exposition

import (
	"errors"
	"strconv"

	"github.com/prometheus/common/model"
)

// Secret reports whether a text of a page has what must not be shown, such as credentials that a server
// repeats. A nil Secret finds nothing.
type Secret func(text string) bool

// errSecret replaces the error of a parser, which may quote a part of what must not be shown.
var errSecret = errors.New("not in the format; the line is not quoted, because the page repeats what must not be shown")

func (s Secret) in(text string) bool { return s != nil && s(text) }

// inLabel reports whether a label has what must not be shown. A bound is a number of the server, like the
// values of samples.
func (s Secret) inLabel(name, value string) bool {
	if s == nil {
		return false
	}
	if name == model.BucketLabel || name == model.QuantileLabel {
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return false
		}
	}
	return s(name) || s(value)
}
