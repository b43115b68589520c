package engine

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Releases are the releases of a server from one to before another; an empty bound is none, and without
// any they are all that were ever looked at, see [Kind.Census]. They explain what is absent; what is on a
// page has its meaning in forks and nightly builds too, unless Decide is true: outside of them, or without a
// known version, the series is not read.
type Releases struct {
	From, Before string
	Decide       bool
	// Hidden is the first release in which only a flag shows the series, see [Kind.ShowsHidden].
	Hidden string
	// Of names the part of the server whose releases these are, empty for the server itself.
	Of string
	// Unverified is true if nobody compared them with the code of every release.
	Unverified bool
}

// since, before and between return the releases with these bounds.
func since(from string) Releases           { return Releases{From: from} }
func before(release string) Releases       { return Releases{Before: release} }
func between(from, before string) Releases { return Releases{From: from, Before: before} }

// hidden returns releases that show the series only with a flag from one of them on.
func (r Releases) hidden(from string) Releases {
	r.Hidden = from
	return r
}

// decided returns releases outside of which the series means something else.
func (r Releases) decided() Releases {
	r.Decide = true
	return r
}

// unverified returns releases that nobody compared with the code.
func (r Releases) unverified() Releases {
	r.Unverified = true
	return r
}

// history lists names of series by the releases that show them, where these are not all.
type history map[Releases][]string

// with returns meanings with the releases of their names, but for those that have some already. A name that
// stands more than once has the earliest.
func (h history) with(all []Meaning) []Meaning {
	byAge := slices.SortedFunc(maps.Keys(h), func(a, b Releases) int {
		from := slices.Compare(releaseOf(a.From), releaseOf(b.From))
		return cmp.Or(from, strings.Compare(a.String(), b.String()))
	})
	for i := range all {
		for _, releases := range byAge {
			if all[i].Releases == (Releases{}) && slices.Contains(h[releases], all[i].Name) {
				all[i].Releases = releases
			}
		}
	}
	return all
}

// inReleases returns meanings with the releases of all that have none.
func inReleases(r Releases, all []Meaning) []Meaning {
	for i := range all {
		if all[i].Releases == (Releases{}) {
			all[i].Releases = r
		}
	}
	return all
}

// notInRelease explains a gap by the release of a server, which is known to have no series for any way to a
// capability. The series of an engine inside have releases of their own.
func (k *Kind) notInRelease(name string, known *Knowledge) (c target.Check, ok bool) {
	version := known.versionOf(k.Name)
	if releaseOf(version) == nil {
		return c, false
	}
	ways := waysTo(name)
	if name == CanOutcomes {
		for _, s := range k.failures {
			ways = append(ways, way{s})
		}
	}
	var came *Meaning
	for _, w := range ways {
		last, missing := k.lastOf(w, version)
		if !missing {
			return c, false
		}
		if last != nil && (came == nil || compare(last.Releases.From, came.Releases.From) < 0) {
			came = last
		}
	}
	if came == nil {
		return c, false
	}
	from := came.Releases.From
	return no(came.Name+" came with "+from+", and this is "+version, "release "+from+" or later"), true
}

// lastOf returns the series that came last of those that make up a way after a release, nil if none will
// do; missing is true if that release lacks any of its signals.
func (k *Kind) lastOf(w way, version string) (last *Meaning, missing bool) {
	for _, s := range w {
		first, shown := k.firstOf(s, version)
		if missing = missing || !shown; first == nil && !shown {
			return nil, true
		}
		if first != nil && (last == nil || compare(first.Releases.From, last.Releases.From) > 0) {
			last = first
		}
	}
	return last, missing
}

// firstOf returns the series of a signal that came first after a release, and whether that shows any itself,
// as it may if nobody verified that it does not.
func (k *Kind) firstOf(s Signal, version string) (first *Meaning, shown bool) {
	for i := range k.series {
		switch m := &k.series[i]; {
		case m.Signal != s:
		case m.Releases.Unverified || m.Releases.Of != "" || m.Releases.Hold(version):
			return nil, true
		case compare(m.Releases.From, version) > 0 && (first == nil || compare(m.Releases.From, first.Releases.From) < 0):
			first = m
		}
	}
	return first, false
}

// All reports whether there are no bounds.
func (r Releases) All() bool { return r.From == "" && r.Before == "" }

// Hold reports whether a version is among the releases. An unknown one is among them only if all are.
func (r Releases) Hold(version string) bool {
	switch {
	case r.All():
		return true
	case releaseOf(version) == nil:
		return false
	}
	return compare(version, r.From) >= 0 && (r.Before == "" || compare(version, r.Before) < 0)
}

// String returns the releases as sentences have them.
func (r Releases) String() string {
	text := "all releases"
	switch {
	case r.From != "" && r.Before != "":
		text = "releases from " + r.From + " to before " + r.Before
	case r.From != "":
		text = "releases from " + r.From
	case r.Before != "":
		text = "releases before " + r.Before
	}
	if r.Of != "" {
		text += " of " + r.Of
	}
	if r.Hidden != "" {
		text += ", hidden from " + r.Hidden
	}
	if r.Unverified {
		text += ", unverified"
	}
	return text
}

// compare compares a version with a bound. A candidate counts as its release, unless the bound names one.
func compare(version, bound string) int {
	parts := releaseOf(bound)
	if n := len(parts) - 1; n > 0 && parts[n-1] == released {
		parts = parts[:n-1]
	}
	return slices.Compare(releaseOf(version), parts)
}

// versionParts is how many numbers a version has before what qualifies it.
const versionParts = 4

// releaseOf returns a version as numbers that compare like releases: 0.6.0rc1, 0.6, 0.6.0.post1, 0.6.1,
// and b4567-f3a1 after b4566. It returns none for what is not a version.
func releaseOf(version string) (parts []int) {
	rest := strings.TrimLeftFunc(version, unicode.IsLetter)
	for len(parts) < versionParts {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil {
			break
		}
		parts, rest = append(parts, n), rest[digits:]
		if !strings.HasPrefix(rest, ".") {
			break
		}
		rest = rest[1:]
	}
	if len(parts) == 0 {
		return nil
	}
	for len(parts) < versionParts {
		parts = append(parts, 0)
	}
	return append(parts, qualified(rest)...)
}

// released is the stage of a release, between its candidates and what corrects it.
const released = 0

// qualified returns the stage that follows the numbers of a version, and its number.
func qualified(rest string) []int {
	stages := []struct {
		word  string
		stage int
	}{{"dev", -4}, {"a", -3}, {"b", -2}, {"rc", -1}, {"post", 1}}
	for _, s := range stages {
		if number, ok := strings.CutPrefix(rest, s.word); ok {
			return []int{s.stage, leading(number)}
		}
	}
	return []int{released, 0}
}

// leading returns the number that a text begins with, 0 without one.
func leading(text string) int {
	n, _ := strconv.Atoi(text[:len(text)-len(strings.TrimLeft(text, "0123456789"))])
	return n
}
