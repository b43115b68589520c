package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Trouble is what is wrong with a server, or seems to be.
type Trouble struct {
	Name string
	// Well is true if the server serves requests that others send.
	Well bool

	phases []phase
	// alone is true if it makes no difference whether others succeed.
	alone bool
}

// Troubles returns the troubles for which witnesses decide. Each lasts for three minutes.
func Troubles() []Trouble {
	const lasts = 36
	hung := Book{Running: 4, Waiting: 2}
	arriving := Book{Arrived: 1}
	failed := requests(engine.ClassServer, 4)
	says := func(change func(o *Outcome)) *Outcome {
		o := usual()
		change(o)
		return o
	}
	notReady := says(func(o *Outcome) {
		o.API.API, o.API.Live, o.API.FromServer = engine.APINotReady, true, true
		o.API.Detail = "the API answers Service Unavailable"
	})
	paused := says(func(o *Outcome) { o.API.Paused, o.API.Detail = true, "it is paused" })
	noPage := says(func(o *Outcome) { o.Scrape = assess.Scrape{Error: "http_status (500)"} })
	refused := &Outcome{
		Scrape: assess.Scrape{Unanswered: true, Refused: true, Error: "connect"},
		API:    engine.Health{API: engine.APIRefused, Detail: "the API refuses connections"},
	}
	silent := &Outcome{
		Scrape: assess.Scrape{Unanswered: true, Error: "timeout"},
		API:    engine.Health{API: engine.APIFailed, Detail: "the API does not answer"},
	}
	proxied := says(func(o *Outcome) {
		o.API = engine.Health{API: engine.APINotReady, Detail: "the API answers Service Unavailable"}
		o.Apart = true
	})
	during := func(p phase) []phase {
		p.pages = lasts
		return []phase{p}
	}
	return []Trouble{
		{Name: "nothing", Well: true, phases: during(phase{})},
		{Name: "our own request is wrong", Well: true, phases: during(phase{own: Fails})},
		{Name: "our own request waits behind others", Well: true, phases: during(phase{own: Hangs})},
		{Name: "the requests of one client fail, ours does not", Well: true, phases: during(phase{each: failed})},
		{Name: "all requests fail", phases: during(phase{each: failed, own: Fails})},
		{Name: "the engine hangs with requests in flight", phases: during(phase{each: hung, own: Hangs}), alone: true},
		{
			Name:   "the engine hangs while idle, requests arrive",
			phases: during(phase{each: arriving, own: Hangs}),
			alone:  true,
		},
		{
			Name:   "what follows the engine hangs",
			phases: during(phase{each: Book{Arrived: 1, Steps: 10, Tokens: 20}, own: Hangs}),
			alone:  true,
		},
		{Name: "prompts are computed again and again", phases: again(lasts), alone: true},
		{
			Name:   "one request takes long",
			Well:   true,
			phases: during(phase{each: Book{Running: 1, Steps: 50, Tokens: 50}}),
			alone:  true,
		},
		{Name: "gauges are stale, the server is idle", Well: true, phases: during(phase{each: hung}), alone: true},
		{
			Name:   "it is paused, requests are in flight",
			phases: during(phase{each: hung, own: Hangs, outcome: paused}),
			alone:  true,
		},
		{Name: "it says that it is not ready", phases: during(phase{outcome: notReady})},
		{
			Name:   "it hangs, and says that it is not ready",
			phases: during(phase{each: hung, own: Hangs, outcome: notReady}),
			alone:  true,
		},
		{
			Name:   "it hangs, and a proxy at another port says that it is not ready",
			phases: during(phase{each: hung, own: Hangs, outcome: proxied}),
			alone:  true,
		},
		{
			Name:   "gauges are stale, and a proxy at another port says that it is not ready",
			Well:   true,
			phases: during(phase{each: hung, outcome: proxied}),
			alone:  true,
		},
		{Name: "its engine ends requests before they are answered", Well: true, phases: ahead(lasts), alone: true},
		{Name: "the page does not come", Well: true, phases: during(phase{outcome: noPage})},
		{Name: "the page lacks the server now and then", Well: true, phases: missing(lasts, noPage)},
		{Name: "neither page nor API answers", phases: during(phase{outcome: silent, own: Hangs}), alone: true},
		{Name: "connections are refused", phases: during(phase{outcome: refused, own: Fails}), alone: true},
	}
}

// again returns pages of an engine that computes prompts, sets them aside for lack of KV cache, and begins again.
func again(pages int) (all []phase) {
	for n := range pages {
		each := Book{Running: 2, Waiting: 4, Steps: 5, Preempted: 1, Blocks: 40 + 20*(n%3)}
		all = append(all, phase{pages: 1, each: each, own: Hangs})
	}
	return all
}

// ahead returns pages of a server whose engine ends requests together, and whose API sends their answers little by
// little.
func ahead(pages int) (all []phase) {
	for n := range pages {
		each := Book{Unanswered: 9 - 3*(n%4)}
		if n%4 == 0 {
			each = requests(engine.ClassOK, 12)
			each.Running, each.Unanswered = 0, 9
		}
		all = append(all, phase{pages: 1, each: each})
	}
	return all
}

// missing returns pages one in three of which says nothing about the server, as that of an agent alone.
func missing(pages int, alone *Outcome) (all []phase) {
	for n := range pages {
		p := phase{pages: 1}
		if n%3 == 1 {
			p.outcome = alone
		}
		all = append(all, p)
	}
	return all
}

// Scenario returns the scenario of a trouble after a minute of work. Others succeed beside it if
// succeed is true.
func (tr *Trouble) Scenario(asking Asking, succeed bool) Scenario {
	sc := Scenario{Name: tr.Name, Asking: asking, Healthy: tr.Well}
	last := requests(engine.ClassOK, 4)
	last.Running = 0
	sc.phases = []phase{{pages: 12, each: requests(engine.ClassOK, 10)}, {pages: 1, each: last}}
	for _, p := range tr.phases {
		if succeed {
			p.each = both(p.each, requests(engine.ClassOK, 10))
		}
		sc.phases = append(sc.phases, p)
	}
	sc.begin()
	return sc
}

// both returns what happens on a page where both books' requests end.
func both(a, b Book) Book {
	sum := a.add(b)
	sum.Running, sum.Waiting = max(a.Running, b.Running), max(a.Waiting, b.Waiting)
	return sum
}

// WitnessTable returns what is concluded of each trouble at its end: which witnesses there are, the
// state and both probes, with the servers for which this holds.
func WitnessTable() (string, error) {
	var b strings.Builder
	b.WriteString("Verdicts in each trouble, after three minutes: with nobody else's requests or with others that " +
		"succeed, and by what the\n" +
		"exporter may ask. Each line lists the servers of which it holds.\n")
	for _, trouble := range Troubles() {
		for _, succeed := range []bool{false, true} {
			if succeed && trouble.alone {
				continue
			}
			for _, asking := range []Asking{NoQuestions, Confirm, Canary} {
				fmt.Fprintf(&b, "\n%s; %s; %s\n", trouble.Name, map[bool]string{
					true:  "others succeed",
					false: "nobody else",
				}[succeed], asking)
				if err := writeVerdicts(&b, trouble.Scenario(asking, succeed)); err != nil {
					return "", err
				}
			}
		}
	}
	return b.String(), nil
}

// writeVerdicts writes the verdicts of all servers in a scenario, grouped.
func writeVerdicts(b *strings.Builder, sc Scenario) error {
	var order []string
	servers := make(map[string][]string)
	for _, server := range Servers() {
		seen, err := Play(&server, &sc)
		if err != nil {
			return err
		}
		last := &seen[len(seen)-1]
		w := last.Witnesses
		line := fmt.Sprintf("  %-14s %-6s ready %d live %d | %s; acquitted %s; %s; says %s", last.State, last.Severity,
			status(last.Probes.Ready), status(last.Probes.Live), w.Accusation, word(w.Acquitted), w.Question, w.Word)
		if last.Suspected {
			line += "; suspected"
		}
		if !slices.Contains(order, line) {
			order = append(order, line)
		}
		servers[line] = append(servers[line], server.Name)
	}
	for _, line := range order {
		fmt.Fprintf(b, "%s\n", line)
		if len(order) > 1 {
			fmt.Fprintf(b, "      %s\n", strings.Join(servers[line], "; "))
		}
	}
	return nil
}

// status returns the status of a probe.
func status(passes bool) int {
	if passes {
		return 200
	}
	return 503
}
