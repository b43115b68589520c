package collector_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// faultCase is one case of the fault matrix: a target that goes wrong among
// others that do not.
type faultCase struct {
	// name begins with the number of the case in the matrix.
	name string
	// play is what the target answers while it is faulty.
	play http.HandlerFunc
	// reason is why its scrape fails; empty when it does not.
	reason scrape.Reason
	// times is how often it has to fail; if 0 twice, but for a timeout, which one
	// scrape shows as well as two unless the whole product is run.
	times int
	// dropped is why series are left out of a scrape that does not fail.
	dropped string
	// shows are texts that have to be on the page, hides those that must not.
	shows, hides []string
	// untypes is the family that loses its type for all targets, which lets its
	// lines be in another order; nothing else of it changes.
	untypes string
	// prepare changes the pool of the faulty target.
	prepare func(*config.Pool)
}

// settled are the lines of families that no case takes the type of.
func settled(lines string, cases []faultCase) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if !slices.ContainsFunc(cases, func(c faultCase) bool { return c.untypes != "" && strings.Contains(line, c.untypes) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sortedLines are the same lines in the order of their text.
func sortedLines(lines string) string {
	return strings.Join(slices.Sorted(strings.Lines(lines)), "")
}

// id is the pool of the case's target.
func (c *faultCase) id() string {
	id, _, _ := strings.Cut(c.name, " ")
	return id
}

// missing says what the page lacks while the case's target is faulty.
func (c *faultCase) missing(page string) string {
	id := c.id()
	up := 1.0
	if c.reason != "" {
		up = 0
		if value(page, reasoned("target_scrape_failures_total", id, string(c.reason), "bad")) < float64(c.failuresAsked()) {
			return c.name + ": failures for reason " + string(c.reason)
		}
		if rawLines(page, id) != "" {
			return c.name + ": absence of the failed target's series"
		}
	}
	if c.dropped != "" && value(page, reasoned("target_series_dropped_total", id, c.dropped, "bad")) < 1 {
		return c.name + ": series dropped for reason " + c.dropped
	}
	if value(page, own("target_up", id, "bad")) != up {
		return fmt.Sprintf("%s: target_up %v", c.name, up)
	}
	for _, text := range c.shows {
		if !strings.Contains(page, text) {
			return c.name + ": " + text
		}
	}
	for _, text := range c.hides {
		if strings.Contains(page, text) {
			return c.name + ": absence of " + text
		}
	}
	return ""
}

// failuresAsked is how often the case's target has to fail.
func (c *faultCase) failuresAsked() int {
	if c.reason == scrape.ReasonTimeout && !wholeProduct() {
		return cmp.Or(c.times, 1)
	}
	return cmp.Or(c.times, 2)
}

// failures is how often the case's target failed, but for timeouts, which good
// pages of a busy machine may meet as well.
func (c *faultCase) failures(page string) float64 {
	sum := 0.0
	for _, reason := range scrape.Reasons() {
		if reason == scrape.ReasonTimeout {
			continue
		}
		sum += max(value(page, reasoned("target_scrape_failures_total", c.id(), string(reason), "bad")), 0)
	}
	return sum
}

// bystanders are the pools of healthy targets; one is before all faulty
// ones on the page, one behind.
func bystanders() []string { return []string{"A00", "Z99"} }

// targetsOfRun is how many targets there are in each run, healthy and faulty ones.
const targetsOfRun = 10

// lookEvery is the time between two looks at the page, which is read in one
// format after another: as often as targets are scraped.
const lookEvery = 150 * time.Millisecond

// runFaults lets the cases go wrong, one to five at a time, in runs of their
// own.
func runFaults(t *testing.T, cases []faultCase) {
	t.Helper()
	for i, some := range companies(cases) {
		t.Run(nameOf(some), func(t *testing.T) {
			t.Parallel()
			runCompany(t, some, formatsOf(i))
		})
	}
}

// runCompany lets cases go wrong at once next to the bystanders and then heals
// them, looking at every page on the way: as text, and in one of the formats
// where the whole product is run.
func runCompany(t *testing.T, cases []faultCase, formats []expfmt.Format) {
	t.Helper()
	stages := make([]*stage, len(cases))
	var pools []config.Pool
	healthyIn := make(map[string]int)
	for i, id := range bystanders() {
		var targets []string
		for n := range (targetsOfRun - len(cases) + i) / len(bystanders()) {
			targets = append(targets, fmt.Sprintf("h%d=%s", n, newStage(t).host()))
		}
		healthyIn[id] = len(targets)
		pools = append(pools, staged(id, targets...))
	}
	for i := range cases {
		stages[i] = newStage(t)
		p := staged(cases[i].id(), "bad="+stages[i].host())
		p.ScrapeInterval = model.Duration(lookEvery)
		if cases[i].prepare != nil {
			cases[i].prepare(&p)
		}
		pools = append(pools, p)
	}
	l := startLine(t, pools...)
	var sickly []string
	for i := range cases {
		sickly = append(sickly, cases[i].id())
	}
	healthy := l.look("All targets are up before the faults", func(string) {}, func(page string) string {
		return cmp.Or(lacking(page, healthyIn["A00"], "A00"), lacking(page, healthyIn["Z99"], "Z99"), lacking(page, 1, sickly...))
	})
	looks := 0
	check := func(page string) {
		looks++
		if wholeProduct() {
			l.requireBystanders(cases, formats[looks%len(formats):][:1], bystanders()...)
		}
		for _, id := range bystanders() {
			requireSame(t, settled(rawLines(healthy, id), cases), settled(rawLines(page, id), cases), "series of bystanders")
			requireSame(t, sortedLines(rawLines(healthy, id)), sortedLines(rawLines(page, id)), "series of bystanders, of families without a type too")
			for n := range healthyIn[id] {
				require.InDelta(t, 1, value(page, own("target_up", id, fmt.Sprintf("h%d", n))), 0)
			}
		}
		requireSame(t, settled(heads(healthy), cases), settled(heads(page), cases), "HELP and TYPE of bystanders' families")
	}
	for i := range cases {
		stages[i].play(cases[i].play)
	}
	// Every case is seen once at least; one that comes after another has gone
	// on to fail the same way.
	l.look("Every fault shows", check, func(page string) string {
		for i := range cases {
			if missing := cases[i].missing(page); missing != "" {
				return missing
			}
		}
		return ""
	})
	l.requireBystanders(cases, formats, bystanders()...)
	l.requirePromtool()
	for _, s := range stages {
		s.play(nil)
	}
	sick := l.page()
	well := l.look("Every target is back", check, func(page string) string {
		for i := range cases {
			if rawLines(page, cases[i].id()) != rawLines(healthy, cases[i].id()) {
				return "the healed page of " + cases[i].name
			}
		}
		return ""
	})
	if wholeProduct() {
		l.requireBystanders(cases, formats, bystanders()...)
	}
	for i := range cases {
		// One more scrape may have been under way, one more may have begun
		// between the look and the healing.
		require.LessOrEqual(t, cases[i].failures(well), cases[i].failures(sick)+2, "%s is back with its next scrape", cases[i].name)
	}
	require.True(t, slices.IsSortedFunc(l.store.Slots(), func(a, b *snapshot.Slot) int {
		return strings.Compare(a.Target().Key(), b.Target().Key())
	}))
}

// look reads the page until nothing is missing, each time with a check, and
// requires the last one to be valid, or every one where the whole product is run.
func (l *line) look(what string, check func(page string), done func(page string) (missing string)) string {
	l.t.Helper()
	page := l.waitFor(what, lookEvery, func() (page, missing string) {
		if page = l.page(); wholeProduct() {
			requireValid(l.t, page)
		}
		check(page)
		return page, done(page)
	})
	requireValid(l.t, page)
	return page
}

// limits sets small limits, so that the tests need no large pages.
func limits(change func(*config.Limits)) func(*config.Pool) {
	return func(p *config.Pool) { change(&p.Limits) }
}

// timeout sets a short timeout.
func timeout(d time.Duration) func(*config.Pool) {
	return func(p *config.Pool) { p.ScrapeTimeout = model.Duration(d) }
}
