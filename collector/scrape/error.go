package scrape

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the failure of one scrape. Its text never holds a secret.
type Error struct {
	// Err says what happened and what to do; never nil.
	Err error
	// Reason is one of [Reasons].
	Reason Reason
	// Class narrows the reason: one of the Class constants, or the HTTP status
	// code; often empty.
	Class string
}

// Error gives one line: the reason, what happened and the way out.
func (e *Error) Error() string {
	text := string(e.Reason)
	if e.Class != "" {
		text += " (" + e.Class + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf gives the reason of a failed scrape; an error that does not come
// from a scrape is ReasonProtocol, as nothing else is known of it.
func ReasonOf(err error) Reason {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Reason
	}
	return ReasonProtocol
}

// failf builds a failure; format follows fmt.Errorf.
func failf(reason Reason, class, format string, args ...any) *Error {
	return &Error{Reason: reason, Class: class, Err: fmt.Errorf(format, args...)}
}

// advise puts the way out behind a cause.
func advise(reason Reason, class string, cause error, advice string) *Error {
	return failf(reason, class, "%w; %s", cause, advice)
}
