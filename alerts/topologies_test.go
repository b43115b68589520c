package alerts_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// watched is a pool of four replicas whose first ones live as given, and its exporter.
type watched struct {
	name string
	// lives says how each replica fares; asleep is true if all sleep after the event.
	lives  [4]life
	asleep bool
	// exporter is up as given.
	exporter timeline
	// gap is when the ruler gets nothing.
	gap func(step int) bool
}

// lives returns the rows of the table.
func lives() []watched {
	up, down := always(1), ready.becomes(0, "down")
	same := func(l life) [4]life { return [4]life{l, l, l, l} }
	well, crashed := same(ready), same(down)
	gone := same(ready.becomes(0, ""))
	var rolled [4]life
	for i := range rolled {
		rolled[i] = ready.becomes(6*i, "draining").becomes(6*i+1, "down").becomes(6*i+2, "starting").becomes(6*i+5, "ready")
	}
	within := func(minutes int) func(int) bool {
		return func(step int) bool { return step >= 0 && step < minutes*minute }
	}
	return []watched{
		{name: "all is well", lives: well, exporter: up},
		{name: "all of `p` crash", lives: crashed, exporter: up},
		{name: "one of `p` crashes", lives: [4]life{down, ready, ready, ready}, exporter: up},
		{name: "one of `p` hangs", lives: [4]life{ready.becomes(0, "stalled"), ready, ready, ready}, exporter: up},
		{name: "all of `p` are rolled, one by one", lives: rolled, exporter: up},
		{name: "all of `p` sleep", lives: same(ready.becomes(0, "unserved")), asleep: true, exporter: up},
		{
			name:     "all of `p` drain, and are removed",
			lives:    same(ready.becomes(0, "draining").becomes(2, "")),
			exporter: up,
		},
		{name: "all of `p` vanish", lives: gone, exporter: up},
		{name: "the exporter does not answer", lives: well, exporter: from(0, 0, up)},
		{name: "the exporter is removed", lives: well, exporter: from(0, absent, up)},
		{name: "the exporter is away for a minute", lives: well, exporter: between(0, 1, 0, up)},
		{name: "all of `p` crash, and later the exporter", lives: crashed, exporter: from(15, 0, up)},
		{name: "the ruler gets nothing for four minutes", lives: well, exporter: up, gap: within(4)},
		{name: "the ruler gets nothing for ten minutes", lives: well, exporter: up, gap: within(10)},
	}
}

// sees adds replicas of p to an exporter, and their number.
func (w *watched) sees(e *exporter, replicas ...int) {
	e.has("p", func(step int) float64 {
		n := 0.
		for _, i := range replicas {
			if w.lives[i](step) != "" {
				n++
			}
		}
		return n
	})
	for _, i := range replicas {
		s := &server{pool: "p", replica: strconv.Itoa(i)}
		if w.asleep {
			e.sleeps(s, 0, w.lives[i])
		} else {
			e.sees(s, w.lives[i])
		}
	}
}

// topologies returns the columns of the table: what adds the exporters of p, and those of q.
func topologies() map[string]func(f *fleet, w *watched) {
	up := always(1)
	one := func(f *fleet, w *watched) {
		e := f.exporter("e", w.exporter)
		w.sees(e, 0, 1, 2, 3)
		e.pool("q", 2, ready)
	}
	shard := func(f *fleet, i int, at timeline) *exporter {
		e := f.exporter(fmt.Sprint("s", i), at)
		e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(3))
		return e
	}
	return map[string]func(f *fleet, w *watched){
		"one":           one,
		"central ruler": one,
		"pair": func(f *fleet, w *watched) {
			for name, at := range map[string]timeline{"a": w.exporter, "b": up} {
				e := f.exporter(name, at)
				w.sees(e, 0, 1, 2, 3)
				e.pool("q", 2, ready)
			}
		},
		"shards, whole pools": func(f *fleet, w *watched) {
			first, second, third := shard(f, 0, w.exporter), shard(f, 1, up), shard(f, 2, up)
			w.sees(first, 0, 1, 2, 3)
			w.sees(second)
			w.sees(third)
			first.has("q", always(0))
			second.pool("q", 2, ready)
			third.has("q", always(0))
		},
		"shards, spread": func(f *fleet, w *watched) {
			first, second, third := shard(f, 0, w.exporter), shard(f, 1, up), shard(f, 2, up)
			w.sees(first, 0, 1)
			w.sees(second, 2, 3)
			w.sees(third)
			for i, e := range []*exporter{first, second} {
				e.has("q", always(1))
				e.sees(&server{pool: "q", replica: strconv.Itoa(i)}, ready)
			}
			third.has("q", always(0))
		},
		"sidecars": func(f *fleet, w *watched) {
			for i := range w.lives {
				w.sees(f.exporter(fmt.Sprint("p-", i), func(step int) float64 {
					if w.lives[i](step) == "" {
						return absent
					}
					return w.exporter(step)
				}), i)
			}
			f.sidecars("q", 2, up, ready)
		},
	}
}

// cells returns the scenarios of the table of a document.
func cells(t *testing.T, file string) []scenario {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (.*) \|$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 1+len(lives()), "rows of %s", file)
	columns, build := strings.Split(rows[0][1], " | ")[1:], topologies()
	require.Len(t, columns, len(build), "columns of %s", file)
	var all []scenario
	for i, life := range lives() {
		row := strings.Split(rows[i+1][1], " | ")
		require.Equal(t, life.name, row[0])
		for j, topology := range columns {
			if row[j+1] == "not told" {
				continue
			}
			s := scenario{name: topology + " " + strings.ReplaceAll(life.name, "`", ""), pages: make(map[string]int)}
			s.build = func(f *fleet) {
				f.gap = life.gap
				build[topology](f, &life)
			}
			for name := range strings.SplitSeq(row[j+1], ", ") {
				if page, found := strings.CutPrefix(name, "**"); found {
					s.pages[strings.TrimSuffix(page, "**")] = 20
				} else if name != "–" {
					s.tickets = append(s.tickets, name)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

func TestAlertsOfTopologies(t *testing.T) {
	t.Parallel()
	for scrape, every := range map[string]int{"15s": 1, "30s": 2, "1m": minute} {
		t.Run("scrapes each "+scrape, func(t *testing.T) {
			t.Parallel()
			play(t, scrape, every, slices.Clone(cells(t, "../docs/topologies.md")))
		})
	}
}
