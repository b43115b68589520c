package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keyErrors collects errors that begin with a key.
type keyErrors []error

func (f *keyErrors) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// addPath adds what is wrong with the path of a URL, of which nothing is if it is empty.
func (f *keyErrors) addPath(key, path string) {
	u, err := url.Parse(path)
	isURL := err == nil && u.Scheme != "" && u.Host != ""
	if isURL {
		alone := cmp.Or(u.EscapedPath(), "/metrics")
		*f = append(*f, fmt.Errorf("%s: %q is a URL; write its path alone, like %s", key, redactURL(path), alone))
	}
	f.addIf(path != "" && !isURL && !strings.HasPrefix(path, "/"),
		"%s: %q does not start with a slash; write /%s", key, redactURL(path), redactURL(path))
	f.addIf(strings.ContainsAny(path, "?#"), "%s: is more than a path; leave out everything from ? or # on", key)
}

// problem is one mistake in a document. Its line is 0 if unknown; cause is the error that text
// describes, if any.
type problem struct {
	document string
	line     int
	text     string
	cause    error
}

func (p *problem) Error() string {
	location := p.document
	if p.line > 0 {
		location += ": line " + strconv.Itoa(p.line)
	}
	return location + ": " + withoutUser.ReplaceAllString(strings.Join(strings.Fields(p.text), " "), "${1}"+redacted+"@")
}

// withoutUser matches the user of a URL, which may be the value of any key, by mistake, and be cleaned as a file name.
var withoutUser = regexp.MustCompile(`(:/+)[^/?#\s"@]*@`)

func (p *problem) Unwrap() error { return p.cause }

// problems holds the mistakes in one document.
type problems []*problem

// in sets the document of the problems.
func (p problems) in(document string) problems {
	for _, mistake := range p {
		mistake.document = document
	}
	return p
}

// err joins the problems, those of other documents last, sorted by line, with one line of text each, which is
// there once even if both the decoder of a block and its validation found it. It returns nil if there are
// none.
func (p problems) err(document string) error {
	slices.SortStableFunc(p, func(a, b *problem) int {
		return cmp.Or(strings.Compare(a.document, b.document), a.line-b.line)
	})
	errs, told := make([]error, 0, len(p)), map[string]bool{}
	for _, mistake := range p {
		mistake.document = cmp.Or(mistake.document, document)
		if text := mistake.Error(); !told[text] {
			told[text] = true
			errs = append(errs, mistake)
		}
	}
	return errors.Join(errs...)
}
