package exposition

import (
	"errors"
	"strconv"

	"github.com/prometheus/common/model"
)

// Hide returns a text of a page without what must not be shown, such as credentials that a server
// repeats. A nil Hide changes nothing.
type Hide func(text string) string

// errHidden replaces the error of a parser, which may quote a part of what must not be shown.
var errHidden = errors.New("not in the format; the line is not quoted, because the page repeats what must not be shown")

func (h Hide) text(text string) string {
	if h == nil {
		return text
	}
	return h(text)
}

func (h Hide) name(name string) string {
	if h == nil {
		return name
	}
	return h.inName(name)
}

func (h Hide) value(label, value string) string {
	if h == nil {
		return value
	}
	return h.inValue(label, value)
}

// inName returns a name without what must not be shown. A name of the legacy character set stays one,
// so that the page of all targets needs no escaping because of it.
func (h Hide) inName(name string) string {
	if model.LegacyValidation.IsValidMetricName(name) {
		return model.EscapeName(h(name), model.UnderscoreEscaping)
	}
	return h(name)
}

// inValue returns the value of a label without what must not be shown. A bound is a number of the
// server like the values of samples, and stays.
func (h Hide) inValue(label, value string) string {
	if label == model.BucketLabel || label == model.QuantileLabel {
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return value
		}
	}
	return h(value)
}
