package config

import (
	"errors"
	"strings"
)

// Validate says everything that is wrong with the document, key by key and
// between keys; each error begins with the path of its key.
func (f *File) Validate() error {
	return errors.Join(
		f.Collector.Validate(),
		validateTargets(f.Collector.Pools),
		f.validateFiles(),
		f.Exposition.Validate(),
	)
}

// locate finds the lines that the keys of errors stand on.
func locate(err error, lines map[string]int) problems {
	var found problems
	for _, one := range flatten(err) {
		// The HTTP client is not a key: its blocks stand in the pool itself.
		text := strings.Replace(one.Error(), ".http client: ", ": ", 1)
		key, reason, _ := strings.Cut(text, ": ")
		found = append(found, problem{lineOf(mentioned(key, reason, lines), lines), text, one})
	}
	return found
}

// mentioned is the key below another one that a reason speaks of first and that
// the document has, or else the other one.
func mentioned(key, reason string, lines map[string]int) string {
	for _, word := range strings.FieldsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || r == '\'' }) {
		if _, ok := lines[key+"."+word]; ok {
			return key + "." + word
		}
	}
	return key
}

// lineOf is the line of a key, or of the nearest mapping around it that the
// document has.
func lineOf(path string, lines map[string]int) int {
	for path != "" {
		if line, ok := lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		return []error{err}
	}
	var flat []error
	for _, one := range joined.Unwrap() {
		flat = append(flat, flatten(one)...)
	}
	return flat
}
