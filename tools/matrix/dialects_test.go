package matrix_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// release is a server at the end of its life.
type release struct {
	matrix.Server
	matrix.Result

	page string
}

// column returns the head of the release in a table.
func (p *release) column() string {
	name := cmp.Or(p.Release(), p.Name)
	if p.OldEngine() {
		name += " V0"
	}
	if p.Change() != "" {
		name = "#" + p.Change()
	}
	return name
}

// ends are those of all dialects, played once for all tests.
var ends = sync.OnceValues(func() (all []*release, err error) {
	life := matrix.Eventful()
	last := &life.Pages[len(life.Pages)-1].Book
	for _, server := range matrix.Dialects() {
		seen, err := matrix.Play(&server, &life)
		if err != nil {
			return nil, err
		}
		page, err := server.Pages()
		if err != nil {
			return nil, err
		}
		all = append(all, &release{server, seen[len(seen)-1], page(last)})
	}
	return all, nil
})

// everyRelease returns all dialects at the end of their lives.
func everyRelease(t *testing.T) []*release {
	t.Helper()
	all, err := ends()
	require.NoError(t, err)
	return all
}

// TestEveryReleaseTellsTheTruth plays a life with known totals on the pages of each release: what is
// derived is right, and nothing is absent that is on the page.
func TestEveryReleaseTellsTheTruth(t *testing.T) {
	for _, p := range everyRelease(t) {
		require.Equal(t, "ready", string(p.State), "%s %s: %s", p.Name, p.column(), p.Reason)
		for _, q := range tellers()[p.Kind](&p.Server, p.page) {
			got, shown := p.Value(q.family, q.labels...)
			is := slices.ContainsFunc(q.by, func(family string) bool { return on(p.page, family) })
			label := fmt.Sprintf("%s %s: %s %v", p.Name, p.column(), q.family, q.labels)
			if wanted := is; wanted != shown {
				t.Errorf("%s: wanted %t, got %t (%g)", label, wanted, shown, got)
			} else if shown && (got < q.want*0.998 || got > q.want*1.002) {
				t.Errorf("%s: wanted %g, got %g", label, q.want, got)
			}
		}
	}
}

// TestEverySentenceIsTrueOfItsRelease requires each reason for what a release lacks to be true of that
// release, and the release that would bring it to have it.
func TestEverySentenceIsTrueOfItsRelease(t *testing.T) {
	all := everyRelease(t)
	or := regexp.MustCompile(`(\d+(?:\.\d+)+(?:\.post\d+)?)\)? or later(.*)`)
	for _, p := range all {
		for _, capability := range engine.CapabilityNames() {
			answer := p.Capabilities[capability]
			label := fmt.Sprintf("%s %s, %s: %q [%s]", p.Name, p.column(), capability, answer.Reason, answer.Cure)
			if answer.OK {
				continue
			}
			known := slices.IndexFunc(sentences(), func(s sentence) bool {
				return (s.kind == p.Kind || s.kind == "") && s.says == answer.Reason
			})
			switch {
			case strings.Contains(answer.Reason, " came with ") && p.Kind != engine.Triton: // See below.
			case known < 0:
				t.Errorf("%s: nothing checks this sentence", label)
			case !sentences()[known].true(p):
				t.Errorf("%s: this is not true of its page", label)
			}
			found := or.FindStringSubmatch(answer.Cure)
			if len(found) == 0 || found[2] != "" {
				continue // It names no release, or one with a flag.
			}
			for _, later := range all {
				sooner := engine.Releases{Before: found[1]}.Hold(later.Release())
				same := later.Kind == p.Kind && later.Name == p.Name && later.Release() != p.Release()
				if same && !sooner && !later.OldEngine() && !later.Capabilities[capability].OK {
					t.Errorf("%s: %s does not have it", label, later.column())
				}
			}
		}
	}
}

// TestSeriesCameWithTheReleaseThatIsNamed compares the releases of series with those of the simulated
// servers, which know their own.
func TestSeriesCameWithTheReleaseThatIsNamed(t *testing.T) {
	all := everyRelease(t)
	came := regexp.MustCompile(`^(\S+) came with (\S+), and this is (\S+)$`)
	for _, p := range all {
		for _, capability := range engine.CapabilityNames() {
			answer := p.Capabilities[capability]
			found := came.FindStringSubmatch(answer.Reason)
			if len(found) == 0 {
				continue
			}
			family, release := strings.TrimSuffix(found[1], "_count"), found[2]
			label := fmt.Sprintf("%s %s, %s: %q", p.Name, p.column(), capability, answer.Reason)
			require.Equal(t, p.Release(), found[3], label)
			require.False(t, on(p.page, family), "%s: it is on the page", label)
			require.Equal(t, release, firstWith(all, p, family), label)
		}
	}
}

// firstWith returns the first release of a server that has a family, with any engine.
func firstWith(all []*release, p *release, family string) (first string) {
	for _, other := range all {
		sooner := first == "" || engine.Releases{Before: first}.Hold(other.Release())
		if other.Kind == p.Kind && sooner && on(other.page, family) {
			first = other.Release()
		}
	}
	return first
}

// TestReleasesAreThoseOfTheSimulatedServers compares where each series begins and ends with what the simulated
// servers write.
func TestReleasesAreThoseOfTheSimulatedServers(t *testing.T) {
	all := everyRelease(t)
	for _, kind := range engine.All() {
		var ours []*release
		for _, p := range all {
			if p.Kind == kind.Name && p.Release() != "" {
				ours = append(ours, p)
			}
		}
		for _, m := range kind.Meanings() {
			if m.Inside != "" || m.Releases.Decide || m.Releases.Of != "" {
				continue // Series of another program, or names that changed what they mean.
			}
			label := fmt.Sprintf("%s %v, in %s", m.Name, m.Where, m.Releases)
			for _, p := range ours {
				require.False(t, p.shows(&m) && !m.Releases.Hold(p.Release()), "%s: %s shows it", label, p.column())
			}
			if m.Releases.Unverified {
				continue // It may have been there earlier.
			}
			first, gone := spanOf(ours, &m)
			if first != "" && m.Releases.From != "" {
				require.Equal(t, first, m.Releases.From, "%s: the first release", label)
			}
			if end := cmp.Or(m.Releases.Hidden, m.Releases.Before); first != "" {
				require.Equal(t, gone, end, "%s: the first release that does not show it any more", label)
			}
		}
	}
}

// shows reports whether the page has a series of a meaning, and nothing by which its name means another thing.
func (p *release) shows(m *engine.Meaning) bool {
	marked := func(e engine.Exception) bool { return e.Mark && on(p.page, e.Name) != e.Lacking }
	if slices.ContainsFunc(m.Unless, marked) {
		return false
	}
	name := regexp.MustCompile("^" + regexp.QuoteMeta(m.Name) + `(_bucket|_sum|_count)?[{ ]`)
	for line := range strings.Lines(p.page) {
		selects := func(w engine.Match) bool {
			has := strings.Contains(line, w.Label+`="`)
			switch {
			case w.Value == "":
				return has == (w.Method == engine.Differs)
			case w.Method == engine.StartsWith:
				return strings.Contains(line, w.Label+`="`+w.Value)
			}
			return strings.Contains(line, w.Label+`="`+w.Value+`"`) == (w.Method == engine.Equals)
		}
		if name.MatchString(line) && !slices.ContainsFunc(m.Where, func(w engine.Match) bool { return !selects(w) }) {
			return true
		}
	}
	return false
}

// spanOf returns the first release that shows a series, and the one after the last that does, empty if the
// newest does. The engine that ended is older than the other.
func spanOf(ours []*release, m *engine.Meaning) (first, gone string) {
	for i, p := range ours {
		if !p.shows(m) {
			continue
		}
		if first == "" || (engine.Releases{Before: first}).Hold(p.Release()) {
			first = p.Release()
		}
		switch {
		case i+1 == len(ours):
			gone = ""
		case ours[i+1].Name == p.Name && ours[i+1].OldEngine() == p.OldEngine():
			gone = ours[i+1].Release()
		}
	}
	return first, gone
}

// TestReleasesAsTables writes what is derived in each release.
func TestReleasesAsTables(t *testing.T) {
	byServer := make(map[string][][]string)
	var names []string
	for _, p := range everyRelease(t) {
		tells := tellers()[p.Kind](&p.Server, p.page)
		table := byServer[p.Name]
		if table == nil {
			names = append(names, p.Name)
			table = make([][]string, len(tells)+1)
			table[0] = []string{p.Name}
			for i, q := range tells {
				table[i+1] = []string{strings.Join(append([]string{q.family}, q.labels[min(1, len(q.labels)):]...), " ")}
			}
		}
		table[0] = append(table[0], p.column())
		for i, q := range tells {
			got := "-"
			if v, ok := p.Value(q.family, q.labels...); ok {
				got = fmt.Sprintf("%.6g", v)
			}
			table[i+1] = append(table[i+1], got)
		}
		byServer[p.Name] = table
	}
	var tables [][][]string
	for _, name := range names {
		tables = append(tables, byServer[name])
	}
	fixture.RequireFile(t, "testdata/dialects.txt", "The same life on the pages of each release that writes others than "+
		"the one before, by server: what is derived, \"-\" for what is absent.\n\n"+columnsOf(tables))
}
