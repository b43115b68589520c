package simulate

import (
	"maps"
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

// lacks returns what is listed and a release does not write.
func (w written) lacks(release string) map[string]bool {
	lacked, has := make(map[string]bool), make(map[string]bool)
	for s, names := range w {
		holds := s.holds(release)
		for _, name := range names {
			has[name] = has[name] || holds
			lacked[name] = !has[name]
		}
	}
	maps.DeleteFunc(lacked, func(_ string, lacks bool) bool { return !lacks })
	return lacked
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

// numbers returns the numbers of a release: 0.4.1.post6 follows 0.4.1 and precedes 0.4.2.
func numbers(release string) (all []int) {
	for text := range strings.FieldsFuncSeq(release, func(r rune) bool { return r < '0' || r > '9' }) {
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

// resolve finds out what the release of a page does not write: once, since each series asks.
func (p *page) resolve() {
	if p.lacked != nil {
		return
	}
	p.lacked = p.written.lacks(p.release)
	for name := range p.lacked {
		if label, ok := strings.CutPrefix(name, "{"); ok {
			p.unlabeled = append(p.unlabeled, strings.TrimSuffix(label, "}"))
		}
	}
}

// lacks reports whether the release of a page does not write what has a name.
func (p *page) lacks(name string) bool {
	p.resolve()
	return p.lacked[name]
}

// writes reports whether the release of a page writes a family.
func (p *page) writes(name string) bool {
	name = strings.TrimPrefix(name, p.prefix)
	if base, ok := strings.CutSuffix(name, "_created"); ok {
		return !p.lacks(base) && !p.lacks(base+"_total")
	}
	return !p.lacks(name)
}

// known returns those of sorted labels that the release of the page writes.
func (p *page) known(labels string) string {
	p.resolve()
	for _, name := range p.unlabeled {
		labels = without(labels, name)
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
