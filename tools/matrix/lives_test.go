package matrix_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// life is a server in a life by chance.
type life struct {
	*testing.T

	server matrix.Server
	story  []string
	sc     matrix.Scenario
	seen   []matrix.Result
}

// lives plays lives by chance that consist of episodes, and calls check with each.
func lives(t *testing.T, n int, episodes []string, check func(l *life)) {
	t.Helper()
	servers := matrix.Servers()
	askings := []matrix.Asking{matrix.NoQuestions, matrix.Confirm, matrix.Canary}
	for seed := range n {
		r := rand.New(rand.NewPCG(1, uint64(seed)))
		l := &life{server: servers[r.IntN(len(servers))]}
		asking := askings[r.IntN(len(askings))]
		var all []matrix.Episode
		for range 2 + r.IntN(6) {
			name := episodes[r.IntN(len(episodes))]
			pages := 1 + r.IntN(30)
			all = append(all, matrix.Episode{Name: name, Pages: pages})
			l.story = append(l.story, fmt.Sprintf("%s x%d", name, pages))
		}
		l.sc = matrix.Life(asking, all)
		name := fmt.Sprintf("%d: %s, %s: %s", seed, l.server.Name, asking, strings.Join(l.story, ", "))
		var err error
		l.seen, err = matrix.Play(&l.server, &l.sc)
		require.NoError(t, err, name)
		t.Run(name, func(t *testing.T) {
			l.T = t
			check(l)
		})
	}
}

// fromTheMiddle calls check with the life, and with what is seen of it by an exporter that starts in its middle.
func fromTheMiddle(check func(l *life)) func(l *life) {
	return func(l *life) {
		check(l)
		late := *l
		late.sc.Pages = l.sc.Pages[len(l.sc.Pages)/2:]
		var err error
		late.seen, err = matrix.Play(&late.server, &late.sc)
		require.NoError(l, err)
		check(&late)
	}
}

// others returns how many requests of others ended well on a page.
func (l *life) others(page int) int {
	a, b := &l.sc.Pages[page-1], &l.sc.Pages[page]
	if b.Restarted {
		return 0
	}
	return b.Ended[engine.ClassOK] - a.Ended[engine.ClassOK]
}

// told reports whether the server or the exporter had something else to say than its counters.
func (l *life) told(page int) bool {
	p := &l.sc.Pages[page]
	return !p.Scrape.OK || p.API.API != engine.APIReady || p.API.Paused
}

func TestServedReplicaIsNeverBroken(t *testing.T) {
	lives(t, 200, matrix.Episodes(), fromTheMiddle(func(l *life) {
		for i := 2; i < len(l.seen); i++ {
			if l.others(i) == 0 || l.others(i-1) == 0 || l.told(i) || l.server.Only {
				// A server that counts accepted requests does not show how they end. Where a success has proved to be
				// none before, the next page must confirm it.
				continue
			}
			require.NotEqual(
				l,
				assess.Broken,
				l.seen[i].Severity,
				"page %d: %+v %s",
				i,
				l.seen[i].Witnesses,
				l.seen[i].Reason,
			)
			require.Equal(l, "ready", is(l.seen[i].Probes.Ready, "ready"), "page %d: %s", i, l.seen[i].Reason)
			require.Equal(l, "live", is(l.seen[i].Probes.Live, "live"), "page %d: %s", i, l.seen[i].Reason)
		}
	}))
}

func TestHealthyLifeIsNeverRestarted(t *testing.T) {
	lives(t, 200, matrix.HealthyEpisodes(), fromTheMiddle(func(l *life) {
		for i := range l.seen {
			v := &l.seen[i].Verdict
			if !v.Probes.Judged {
				continue
			}
			require.Equal(l, "live", is(v.Probes.Live, "live"), "page %d: %+v %s", i, v.Witnesses, v.Reason)
			told := l.sc.Pages[i].API.Paused || l.sc.Pages[i].API.API == engine.APINotReady
			onlyFailures := v.Probes.Accused && len(l.seen[i].Failing) > 0 && v.Witnesses.Question != assess.Answered
			if !told && !onlyFailures {
				require.Equal(l, "ready", is(v.Probes.Ready, "ready"), "page %d: %+v %s", i, v.Witnesses, v.Reason)
			}
		}
	}))
}

// TestReloadChangesNothing plays each life again with a change of configuration before one of its pages, while no
// request of the exporter's own is on its way. A process that had counted nothing before may be another one then.
func TestReloadChangesNothing(t *testing.T) {
	lives(t, 100, matrix.Episodes(), func(l *life) {
		at := 1 + len(l.story)*7%(len(l.seen)-1)
		for at < len(l.seen) && (l.seen[at-1].Awaits || l.sc.Pages[at-1].Ended[engine.ClassOK] == 0) {
			at++
		}
		if at == len(l.seen) {
			return
		}
		l.sc.Pages[at].Reloaded = true
		again, err := matrix.Play(&l.server, &l.sc)
		require.NoError(l, err)
		for i := range again {
			require.Equal(l, l.seen[i].Verdict, again[i].Verdict, "page %d of %d, reloaded before %d", i, len(again), at)
			if fmt.Sprint(l.seen[i].Series) != fmt.Sprint(again[i].Series) {
				require.Equal(l, l.seen[i].Series, again[i].Series, "page %d, reloaded before %d", i, at)
			}
		}
	})
}

// shown returns whether a server shows a trouble: it is suspected of a hang at the end of it.
func shown(t *testing.T, server *matrix.Server, name string) bool {
	t.Helper()
	for _, trouble := range matrix.Troubles() {
		if trouble.Name == name {
			sc := trouble.Scenario(matrix.NoQuestions, false)
			seen, err := matrix.Play(server, &sc)
			require.NoError(t, err)
			return seen[len(seen)-1].Suspected
		}
	}
	t.Fatalf("no trouble is %q", name)
	return false
}

// showsHangs returns the servers that show both hangs in the simplest life.
var showsHangs = sync.OnceValue(func() map[string]bool { return make(map[string]bool) })

func TestEveryHangIsSeen(t *testing.T) {
	for _, server := range matrix.Servers() {
		showsHangs()[server.Name] = shown(t, &server, "the engine hangs with requests in flight") &&
			shown(t, &server, "the engine hangs while idle, requests arrive")
	}
	const (
		pages    = 5 * time.Second
		suspect  = derive.DefaultStallAfter + 2*pages
		question = canary.ConfirmEvery + 10*time.Second + 2*pages
	)
	lives(t, 200, matrix.Episodes(), fromTheMiddle(func(l *life) {
		since := l.sc.Pages[0].At
		for i := 1; i < len(l.seen); i++ {
			p := &l.sc.Pages[i]
			switch {
			case p.Own != matrix.Hangs || l.told(i) || p.Restarted || l.others(i) > 0 || p.Running+p.Waiting+p.Arrived == 0:
				since = p.At
				continue
			case !showsHangs()[l.server.Name] || p.At-since < suspect:
				continue
			}
			v := &l.seen[i].Verdict
			// What stood still, and answered, is asked again within a minute.
			answered := l.seen[i].Askable && v.Witnesses.Question == assess.Answered
			if v.Severity != assess.Broken && !answered {
				require.Equal(l, "suspected", is(v.Suspected, "suspected"),
					"page %d hangs since %s: %s, %+v %s", i, since, v.Severity, v.Witnesses, v.Reason)
			}
			if l.seen[i].Askable && p.At-since >= suspect+question {
				require.Equal(
					l,
					assess.Broken,
					v.Severity,
					"page %d hangs since %s: %+v %s",
					i,
					since,
					v.Witnesses,
					v.Reason,
				)
				again := stepless(l.seen[i].Still) && p.At-since < suspect+question+canary.ConfirmEvery
				require.True(l, again || v.Probes.Live == l.seen[i].Routes,
					"page %d hangs since %s, live is %t: %+v %s", i, since, v.Probes.Live, v.Witnesses, v.Reason)
			}
		}
	}))
}
