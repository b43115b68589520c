package engine

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Releases are the releases of a server from one to before another; an empty bound is none.
type Releases struct{ From, Before string }

// All reports whether there are no bounds.
func (r Releases) All() bool { return r == Releases{} }

// Hold reports whether a version is among the releases. An unknown one is among them only if all are.
func (r Releases) Hold(version string) bool {
	parts := releaseOf(version)
	switch {
	case r.All():
		return true
	case len(parts) == 0:
		return false
	}
	return slices.Compare(parts, releaseOf(r.From)) >= 0 &&
		(r.Before == "" || slices.Compare(parts, releaseOf(r.Before)) < 0)
}

// String returns the releases as sentences have them.
func (r Releases) String() string {
	switch {
	case r.All():
		return "all releases"
	case r.Before == "":
		return "releases from " + r.From
	case r.From == "":
		return "releases before " + r.Before
	}
	return "releases from " + r.From + " to before " + r.Before
}

// releaseOf returns the numbers of a version up to what qualifies it: 0.6 of v0.6.post1, 4567 of b4567-f3a1.
func releaseOf(version string) (parts []int) {
	version = strings.TrimLeftFunc(version, unicode.IsLetter)
	for part := range strings.SplitSeq(version, ".") {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		parts = append(parts, n)
		if digits < len(part) {
			break
		}
	}
	return parts
}
