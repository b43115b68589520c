package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// faults are what is wrong with some keys, each of which its message begins with.
type faults []error

// when notes a fault if there is one.
func (f *faults) when(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// problem is one mistake of a document; line 0 is unknown.
type problem struct {
	line int
	text string
	// The error behind the text, if there is one.
	cause error
}

// problems collects the mistakes of one document.
type problems []problem

// err joins the problems in the order of their lines, one line of text each,
// or returns nil when there is none.
func (p problems) err(name string) error {
	slices.SortStableFunc(p, func(a, b problem) int { return a.line - b.line })
	errs := make([]error, 0, len(p))
	for _, one := range p {
		where := name
		if one.line > 0 {
			where += ": line " + strconv.Itoa(one.line)
		}
		errs = append(errs, &mistake{text: where + ": " + oneLine(one.text), cause: one.cause})
	}
	return errors.Join(errs...)
}

// mistake is a problem as an error.
type mistake struct {
	text  string
	cause error
}

func (m *mistake) Error() string { return m.text }

func (m *mistake) Unwrap() error { return m.cause }
