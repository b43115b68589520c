package simulate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// span is the releases of a server from one to before another; an empty bound is none.
type span struct{ since, before string }

// written says in which releases a server writes families and labels of its pages, where these are not
// all: what no span lists is in all. A family goes without the prefix of its page, a label in braces. Facts
// are those of the servers' own code.
type written map[span][]string

func since(release string) span         { return span{since: release} }
func before(release string) span        { return span{before: release} }
func between(since, before string) span { return span{since: since, before: before} }
func inNone() span                      { return before("0") }

// holds reports whether a release is in the span. An empty release is the newest.
func (s span) holds(release string) bool {
	if release == "" {
		return s.before == ""
	}
	return !earlier(release, s.since) && (s.before == "" || earlier(release, s.before))
}

// in reports whether a release writes what has a name.
func (w written) in(release, name string) bool {
	listed := false
	for s, names := range w {
		if !slices.Contains(names, name) {
			continue
		}
		if s.holds(release) {
			return true
		}
		listed = true
	}
	return !listed
}

// releases returns the releases that write other pages than the one before, from a first one on.
func (w written) releases(first string) []string {
	all := []string{first}
	for s := range w {
		all = append(all, s.since, s.before)
	}
	all = slices.DeleteFunc(all, func(r string) bool { return r == "" || earlier(r, first) })
	slices.SortFunc(all, compareReleases)
	return slices.Compact(all)
}

// labels returns the labels that not all releases write.
func (w written) labels() (all []string) {
	for _, names := range w {
		for _, name := range names {
			if label, ok := strings.CutPrefix(name, "{"); ok {
				all = append(all, strings.TrimSuffix(label, "}"))
			}
		}
	}
	return all
}

var digits = regexp.MustCompile(`\d+`)

// numbers returns the numbers of a release: 0.4.1.post6 follows 0.4.1 and precedes 0.4.2.
func numbers(release string) (all []int) {
	for _, text := range digits.FindAllString(release, -1) {
		n, _ := strconv.Atoi(text)
		all = append(all, n)
	}
	return all
}

func compareReleases(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }
func earlier(a, b string) bool        { return compareReleases(a, b) < 0 }

// Dialects returns the releases of a kind of server that write other pages than the one before, the first
// one included; none if all pages that are known are alike.
func (k Kind) Dialects() []Dialect {
	if s := kinds()[k]; s.dialects != nil {
		return s.dialects()
	}
	return nil
}

// Dialect is a release of a server that writes other pages than the one before.
type Dialect struct {
	Release string
	// OldEngine and Change are as in [Setup].
	OldEngine bool
	Change    string
}

func dialectsOf(releases ...string) []Dialect {
	all := make([]Dialect, len(releases))
	for i, release := range releases {
		all[i].Release = release
	}
	return all
}

// writes reports whether the release of a page writes a family.
func (p *page) writes(name string) bool {
	name = strings.TrimPrefix(name, p.prefix)
	if base, ok := strings.CutSuffix(name, "_created"); ok {
		return p.written.in(p.release, base) && p.written.in(p.release, base+"_total")
	}
	return p.written.in(p.release, name)
}

// known returns those of sorted labels that the release of the page writes.
func (p *page) known(labels string) string {
	for _, name := range p.written.labels() {
		if !p.written.in(p.release, "{"+name+"}") {
			labels = without(labels, name)
		}
	}
	return labels
}

// without removes a label from sorted labels.
func without(labels, name string) string {
	parts := strings.Split(labels, `",`)
	parts = slices.DeleteFunc(parts, func(label string) bool { return strings.HasPrefix(label, name+`="`) })
	kept := strings.Join(parts, `",`)
	if kept != "" && !strings.HasSuffix(kept, `"`) {
		kept += `"`
	}
	return kept
}
