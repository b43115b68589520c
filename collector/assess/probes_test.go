package assess_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestReplicaWithoutRequestsIsTriedAgain has a replica of which only failures ended. Taken out of the balancer it gets
// no requests, so that nothing could acquit it: once none has failed for a window, it may have some again.
func TestReplicaWithoutRequestsIsTriedAgain(t *testing.T) {
	failed := assess.Question{Asked: two, Answer: assess.Failed, Reason: "no text"}
	for _, c := range []struct {
		name   string
		since  time.Duration
		change func(e *assess.Evidence)
		want   string
	}{
		{"a request failed just now", 0, func(*assess.Evidence) {}, "failing (ready 503)"},
		{"the last one failed a window ago", time.Minute, func(*assess.Evidence) {}, "failing (ready 503)"},
		{"and longer ago", time.Minute + time.Second, func(*assess.Evidence) {}, "failing"},
		{"and a question failed", 2 * time.Minute, func(e *assess.Evidence) {
			e.Questions = []assess.Question{failed}
		}, "failing (live 503)"},
		{"and a question that a router passed on failed", 2 * time.Minute, func(e *assess.Evidence) {
			e.Questions, e.Routes = []assess.Question{failed}, true
		}, "failing (ready 503)"},
		{"and another model failed just now", 2 * time.Minute, func(e *assess.Evidence) {
			e.Failing = append(e.Failing, derive.Failures{Requests: 5, Accused: two.Add(-time.Second), Last: two})
		}, "failing (ready 503)"},
	} {
		e := serving()
		e.Failing = []derive.Failures{{Requests: 5, Accused: two.Add(-c.since - time.Minute), Last: two.Add(-c.since)}}
		c.change(&e)
		v := assess.Judge(&e)
		t.Run(c.name, func(t *testing.T) { requireVerdict(t, c.want, v) })
	}
}

// TestWhatSomebodyDidOnPurpose has servers without a model that serves: who put one to sleep is not woken for it.
func TestWhatSomebodyDidOnPurpose(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *assess.Evidence)
		want   bool
	}{
		{"it is asleep", func(e *assess.Evidence) { e.API.Paused = true }, true},
		{"its models were unloaded", func(e *assess.Evidence) { e.Unserved, e.Deliberate = "no model", true }, true},
		{"its models failed to load", func(e *assess.Evidence) { e.Unserved = "no model" }, false},
		{"it serves, and somebody unloaded others", func(e *assess.Evidence) { e.Deliberate = true }, false},
		{"it is down since", func(e *assess.Evidence) {
			e.Deliberate, e.API.API = true, engine.APIRefused
			e.Scrape = assess.Scrape{Unanswered: true, Refused: true, Again: true, Seen: true}
		}, false},
	} {
		e := serving()
		c.change(&e)
		v := assess.Judge(&e)
		require.Equal(t, c.want, v.Deliberate, "%s: %s, %s", c.name, v.State, v.Reason)
	}
}

// TestScrapesThatFail has a replica that served before its page was missing.
func TestScrapesThatFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		scrape assess.Scrape
		want   string
	}{
		{"its connection was refused once", assess.Scrape{Unanswered: true, Refused: true, Seen: true}, "down"},
		{
			"its connection was refused twice",
			assess.Scrape{Unanswered: true, Refused: true, Again: true, Seen: true},
			"down (ready 503)",
		},
		{"it was silent once", assess.Scrape{Unanswered: true, Seen: true}, "blind"},
		{"it is silent again", assess.Scrape{Unanswered: true, Again: true, Seen: true}, "down (ready 503)"},
	} {
		e := serving()
		e.Scrape, e.API = c.scrape, assess.API{}
		e.Previous = assess.Judgment{State: assess.Ready, Probes: assess.Probes{Judged: true, Ready: true, Live: true}}
		v := assess.Judge(&e)
		t.Run(c.name, func(t *testing.T) { requireVerdict(t, c.want, v) })
	}
}

// TestNewProcessIsNotBlamedForTheOldOne has a replica that was convicted, and whose page has not come since.
func TestNewProcessIsNotBlamedForTheOldOne(t *testing.T) {
	for _, c := range []struct {
		name     string
		replaced bool
		want     string
	}{
		{"the same process", false, "blind (live 503)"},
		{"its process ended, and another one is ready", true, "blind"},
	} {
		e := serving()
		e.Scrape, e.Replaced = assess.Scrape{Error: "timeout", Seen: true, Since: two.Add(-time.Minute)}, c.replaced
		e.Previous = assess.Judgment{State: assess.Stalled, Probes: assess.Probes{Judged: true, Accused: true}}
		v := assess.Judge(&e)
		t.Run(c.name, func(t *testing.T) { requireVerdict(t, c.want, v) })
	}
}
