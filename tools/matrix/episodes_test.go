package matrix

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Episode is a stretch of a life, see [Episodes].
type Episode struct {
	Name  string
	Pages int
}

// episode is what happens on each of its pages.
type episode struct {
	name    string
	healthy bool
	each    Book
	own     Treatment
	outcome *Outcome
	restart bool
}

func episodes() []episode {
	well := requests(engine.ClassOK, 10)
	failed := Book{Ended: map[engine.Class]int{engine.ClassServer: 4}}
	mixed := requests(engine.ClassOK, 6)
	mixed.Ended[engine.ClassServer] = 4
	paused, notReady, noPage := usual(), usual(), usual()
	paused.API.Paused, paused.API.Detail = true, "it is paused"
	notReady.API.API, notReady.API.FromServer, notReady.API.Detail = engine.APINotReady, true, "the API answers Service Unavailable"
	noPage.Scrape = assess.Scrape{Error: "http_status (500)"}
	proxied := usual()
	proxied.API, proxied.Apart = engine.Health{API: engine.APINotReady, Detail: "a proxy answers 503"}, true
	silent, unreached := usual(), usual()
	silent.Scrape, silent.API = assess.Scrape{Unanswered: true, Error: "timeout"}, engine.Health{Detail: "no answer"}
	unreached.Scrape = assess.Scrape{Unanswered: true, Refused: true, Absence: "a gateway does not reach it", Error: "http_status (502)"}
	unreached.API = engine.Health{API: engine.APIFailed, Status: 502, Detail: "the API answers Bad Gateway"}
	late := well
	late.Unanswered = 8
	return []episode{
		{name: "works", healthy: true, each: well},
		{name: "is idle", healthy: true},
		{name: "answers one long request", healthy: true, each: Book{Running: 1, Steps: 50, Tokens: 50}},
		{name: "answers later than its engine ends", healthy: true, each: late},
		{name: "has a proxy at another port that says that it is not ready", healthy: true, each: well, outcome: proxied},
		{name: "refuses a bad client", healthy: true, each: failed},
		{name: "refuses a bad client, others are served", healthy: true, each: mixed},
		{name: "shows clients that left", healthy: true, each: Book{Running: 3, Waiting: 1}},
		{name: "is paused", healthy: true, outcome: paused},
		{name: "loses its page", healthy: true, outcome: noPage},
		{name: "restarts and works", healthy: true, each: well, restart: true},
		{name: "fails all", each: failed, own: Fails},
		{name: "hangs", each: Book{Running: 4, Waiting: 2}, own: Hangs},
		{name: "hangs while idle, and requests arrive", each: Book{Arrived: 1}, own: Hangs},
		{name: "is not ready", outcome: notReady},
		{name: "answers nothing", outcome: silent},
		{name: "is not reached by its gateway", outcome: unreached},
		{name: "hangs, and answers nothing", each: Book{Running: 4, Waiting: 2}, own: Hangs, outcome: silent},
	}
}

// Episodes returns the names of all episodes.
func Episodes() []string { return named(episodes()) }

// HealthyEpisodes returns the names of those of a server that serves every request which it can.
func HealthyEpisodes() []string {
	return named(slices.DeleteFunc(episodes(), func(e episode) bool { return !e.healthy }))
}

func named(all []episode) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	return names
}

// Life returns a scenario of episodes. Between two, the requests in flight are canceled.
func Life(asking Asking, all []Episode) Scenario {
	known := episodes()
	sc := Scenario{Name: "life", Asking: asking}
	inFlight := 0
	for _, next := range all {
		e := known[slices.IndexFunc(known, func(k episode) bool { return k.name == next.Name })]
		if inFlight > 0 && !e.restart {
			sc.phases = append(sc.phases, phase{
				pages: 1,
				each:  Book{Ended: map[engine.Class]int{engine.ClassCanceled: inFlight}},
			})
		}
		sc.phases = append(sc.phases, phase{
			pages:   next.Pages,
			each:    e.each,
			own:     e.own,
			outcome: e.outcome,
			restart: e.restart,
		})
		inFlight = e.each.Running + e.each.Waiting + next.Pages*e.each.Arrived
	}
	sc.begin()
	return sc
}
