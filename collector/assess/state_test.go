package assess_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestFullServerIsNotRestarted has pages that count rejections for lack of capacity as failures.
func TestFullServerIsNotRestarted(t *testing.T) {
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	rejected := assess.Question{Asked: two, Answer: assess.Failed, Reason: "status 503", Overload: true}
	failed := assess.Question{Asked: two, Answer: assess.Failed, Reason: "status 500"}
	for _, c := range []struct {
		name     string
		question assess.Question
		// alike is true if the page cannot tell rejections from failures.
		alike bool
		want  string
	}{
		{"the question was rejected like the others may be", rejected, true, "failing (ready 503)"},
		{"it failed otherwise", failed, true, "failing (live 503)"},
		{"it was rejected, which the page counts by themselves", rejected, false, "failing (ready 503)"},
		{"nothing was asked", assess.Question{}, true, "failing (ready 503)"},
		{"it was answered", assess.Question{Asked: two, Answer: assess.Answered}, true, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := changed(serving(), func(e *assess.Evidence) {
				e.Failing, e.Questions, e.RefusedFailed = failing, []assess.Question{c.question}, c.alike
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestFailuresWhoseFaultIsUnknown has a frontend of a release that does not tell mistakes of clients from failures.
func TestFailuresWhoseFaultIsUnknown(t *testing.T) {
	failing := []derive.Failures{{Requests: 5, Unclear: true, Accused: two.Add(-time.Minute), Last: two}}
	for _, c := range []struct {
		name     string
		question assess.Question
		want     string
	}{
		{"nothing was asked", assess.Question{}, "ready"},
		{"the exporter's own request was answered", assess.Question{Asked: two, Answer: assess.Answered}, "ready"},
		{"it failed, too", assess.Question{Asked: two, Answer: assess.Failed, Reason: "status 500"}, "failing (live 503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := changed(serving(), func(e *assess.Evidence) {
				e.Failing, e.Questions = failing, []assess.Question{c.question}
			})
			v := assess.Judge(&e)
			requireVerdict(t, c.want, v)
			require.NotEqual(t, assess.OK, v.Severity, v.Reason)
		})
	}
}

// TestFullQueueBehindWhatStandsStill has requests in flight of which nothing moves, and a queue that takes no more: who
// asks gets nothing, and nobody knows whether one long request is in front.
func TestFullQueueBehindWhatStandsStill(t *testing.T) {
	for _, c := range []struct {
		name   string
		report canary.Report
		want   string
	}{
		{
			"it is rejected for lack of capacity",
			canary.Report{Result: canary.Overload, Reason: "status 503"},
			"stalled (ready 503)",
		},
		{"the client asks too often", canary.Report{Result: canary.Overload, Quota: true, Reason: "status 429"}, "suspected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			c.report.Asked, c.report.At = two, two
			m.Asked(two, derive.Entry{})
			m.Answer(c.report, false)
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 4, Since: two.Add(-time.Minute)}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestRefusalRestartsNobody has a request that succeeded before with this process and is refused, while a page accuses
// it: that is not the request's own fault, nor enough to restart a server.
func TestRefusalRestartsNobody(t *testing.T) {
	refused := canary.Report{Result: canary.Refused}
	still := derive.Stillness{InFlight: 4, Since: two.Add(-time.Minute)}
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	for _, c := range []struct {
		name            string
		report          canary.Report
		tried, declared bool
		still           derive.Stillness
		failing         []derive.Failures
		want            string
	}{
		{"beside work that stands still", refused, true, false, still, nil, "stalled (ready 503)"},
		{"no stream any more", canary.Report{Result: canary.Malformed}, true, false, still, nil, "stalled (ready 503)"},
		{"only failures end", refused, true, false, derive.Stillness{}, failing, "failing (ready 503)"},
		{"only failures end as a file counts", refused, true, true, derive.Stillness{}, failing, "failing (ready 503)"},
		{"it was never answered", refused, false, false, still, nil, "suspected"},
		{
			"this client may not ask",
			canary.Report{Result: canary.Refused, Barred: true},
			true, false, still, nil,
			"suspected",
		},
		{"it cannot be sent", canary.Report{Result: canary.Unsupported}, true, false, still, nil, "suspected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			m.Canary.Order(&canary.Order{Key: "a"})
			if c.tried {
				m.Canary.Take(canary.Report{Result: canary.OK}, time.Second)
			}
			c.report.Asked, c.report.At = two, two
			m.Canary.Take(c.report, time.Second)
			m.CanaryAnswered()
			e := changed(serving(), func(e *assess.Evidence) {
				m.Recall(e)
				e.Still, e.Failing, e.Declared = c.still, c.failing, c.declared
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestDeclaredKindThatIsNotReady has servers whose health has answered for long that they are not ready: one of a kind
// that a file declares may do so while all its slots are taken, and only a question restarts it.
func TestDeclaredKindThatIsNotReady(t *testing.T) {
	still := derive.Stillness{InFlight: 4, Since: two.Add(-time.Minute)}
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	silent := assess.Scrape{Seen: true, Again: true, Error: "503", Since: two.Add(-time.Minute)}
	failed := []assess.Question{{Asked: two, Answer: assess.Failed}}
	for _, c := range []struct {
		name     string
		declared bool
		change   func(e *assess.Evidence)
		want     string
	}{
		{"nothing moves", true, func(e *assess.Evidence) { e.Still = still }, "not_ready (ready 503)"},
		{"only failures end", true, func(e *assess.Evidence) { e.Failing = failing }, "not_ready (ready 503)"},
		{"the page does not come", true, func(e *assess.Evidence) { e.Scrape = silent }, "not_ready (ready 503)"},
		{
			"nothing moves, and a question failed", true,
			func(e *assess.Evidence) { e.Still, e.Questions = still, failed },
			"stalled (live 503)",
		},
		{"nothing moves at a known server", false, func(e *assess.Evidence) { e.Still = still }, "stalled (live 503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := changed(serving(), func(e *assess.Evidence) {
				e.Declared = c.declared
				e.API.Health = engine.Health{API: engine.APINotReady, FromServer: true, Detail: "no slot is available"}
				e.API.WasReady, e.API.NotReadySince = true, two.Add(-time.Minute)
				c.change(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestAccusationIsNoHelp has a canary that failed twice before work stood still or only failures ended:
// until a question about that is answered, what it showed stands.
func TestAccusationIsNoHelp(t *testing.T) {
	still := derive.Stillness{InFlight: 4, Since: two.Add(-time.Minute)}
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	before := assess.Question{Asked: two.Add(-time.Hour), Answer: assess.Failed}
	awaited := assess.Question{AwaitedSince: two}
	since := assess.Question{Asked: two, Answer: assess.Failed}
	answered := assess.Question{Asked: two, Answer: assess.Answered}
	for _, c := range []struct {
		name     string
		still    derive.Stillness
		failing  []derive.Failures
		question assess.Question
		want     string
	}{
		{"nobody else asks", derive.Stillness{}, nil, before, "canary_failing (ready 503)"},
		{"work stands still", still, nil, before, "canary_failing (ready 503)"},
		{"work stands still, a question is on its way", still, nil, awaited, "canary_failing (ready 503)"},
		{"work stands still, and the next question fails", still, nil, since, "stalled (live 503)"},
		{"work stands still, and a question is answered", still, nil, answered, "ready"},
		{"only failures end", derive.Stillness{}, failing, before, "failing (ready 503)"},
		{"only failures end, a question is on its way", derive.Stillness{}, failing, awaited, "failing (ready 503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still, e.Failing, e.Questions = c.still, c.failing, []assess.Question{c.question}
				e.Canary = assess.Canary{Failed: "the canary request failed (no_first_token)", Twice: true}
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestReplicaState has what the scenarios of tools/matrix do not play.
func TestReplicaState(t *testing.T) {
	api := func(s engine.APIState) engine.Health { return engine.Health{API: s, Detail: "the API said so"} }
	gone := engine.Health{API: engine.APIRefused, Found: true, Detail: "the API said so"}
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	page := func(s engine.APIState) assess.Evidence {
		return assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(s)}}
	}
	refuses := assess.Evidence{
		Scrape: assess.Scrape{Unanswered: true, Refused: true, Error: "connect: refused"},
		API:    assess.API{Health: api(engine.APIRefused)},
	}
	for _, c := range []struct {
		name   string
		e      assess.Evidence
		state  assess.State
		reason string
	}{
		{"both refuse, never answered, for long", refuses, assess.Down, "connect: refused"},
		{"a page and an unknown API", assess.Evidence{Scrape: assess.Scrape{OK: true}}, assess.Ready, "was not asked"},
		{
			"ready, without workers according to the page",
			assess.Evidence{
				Scrape:   assess.Scrape{OK: true},
				API:      assess.API{Health: api(engine.APIReady)},
				Unrouted: true,
				Unserved: "its LLM is gone",
			},
			assess.NotReady, "the page shows no worker for any of its models",
		},
		{
			"ready, and the LLM is not loaded",
			assess.Evidence{
				Scrape:   assess.Scrape{OK: true},
				API:      assess.API{Health: api(engine.APIReady)},
				Unserved: "its LLM is gone",
			},
			assess.Unserved, "its LLM is gone",
		},
		{
			"it reports that it is draining",
			assess.Evidence{
				Scrape: assess.Scrape{OK: true},
				API: assess.API{
					SamePort: true,
					Health:   engine.Health{API: engine.APINotReady, Draining: true, Detail: "it drains"},
				},
				Unrouted: true,
			},
			assess.Draining, "it drains",
		},
		{
			"the API refuses, the page continues",
			assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone}},
			assess.Draining,
			"the API said so while the page still answers: the server is shutting down",
		},
		{"the API never answered", page(engine.APIRefused), assess.Ready, "all that is known of its API"},
		{
			"a server of one port does not drain",
			assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone, SamePort: true}},
			assess.Ready, "all that is known of its API",
		},
		{
			"ready, and requests fail or are refused",
			assess.Evidence{
				Scrape:        assess.Scrape{OK: true},
				API:           assess.API{Health: api(engine.APIReady)},
				Failing:       failing,
				RefusedFailed: true,
			},
			assess.Failing, "or all are rejected for lack of capacity",
		},
		{"a question was answered before nothing moved any more", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			e.Questions = []assess.Question{{Asked: two.Add(-2 * time.Minute), Answer: assess.Failed, Reason: "no text"}}
		}), assess.Ready, "they may be gone, or take long"},
		{"nothing moves, and a question was not answered", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			e.Questions = []assess.Question{{Asked: two.Add(-10 * time.Second), Answer: assess.Failed, Reason: "no text"}}
		}), assess.Stalled, "nothing has moved since 13:59 UTC, and the exporter's own request failed: no text"},
		{"one rank does not move", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			e.Questions = []assess.Question{{Asked: two.Add(-10 * time.Second), Answer: assess.Failed, Reason: "no text"}}
			e.Still.Partly = true
		}), assess.Ready, "they may be gone, or take long"},
		{
			"frozen gauges of a model with dead processes",
			changed(serving(), func(e *assess.Evidence) { e.Still, e.Failing = hung(), failing }), assess.Failing,
			"all requests are failing",
		},
		{"stalled requests fail in the end", changed(serving(), func(e *assess.Evidence) {
			e.Still, e.Failing, e.Previous.State = hung(), failing, assess.Stalled
			e.Questions = []assess.Question{{Asked: two.Add(-10 * time.Second), Answer: assess.Failed, Reason: "no text"}}
		}), assess.Stalled, "nothing has moved"},
		{
			"a part fails while requests are accepted and tokens move",
			changed(serving(), func(e *assess.Evidence) { e.Failing = partFails() }), assess.Ready,
			"all requests to postprocessing are failing, a part of tensorrt_llm_bls, which does " +
				"not count how its own end",
		},
		{"a part fails, and so does a question", changed(serving(), func(e *assess.Evidence) {
			e.Failing = partFails()
			e.Questions = []assess.Question{{
				Asked:  two.Add(-time.Second),
				Answer: assess.Failed,
				Reason: "it is not healthy",
			}}
		}), assess.Failing, "although its API reports ready, and the exporter's own request failed: it is not healthy"},
		{"a part fails, and a question is answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = partFails()
			e.Questions = []assess.Question{{Asked: two.Add(-time.Second), Answer: assess.Answered}}
		}), assess.Ready, "it may do without"},
		{"one of two entries fails", changed(serving(), func(e *assess.Evidence) {
			e.Failing = []derive.Failures{{Entry: derive.Entry{Model: "ensemble"}, Requests: 9, Acquitted: true, Last: two}}
		}), assess.Ready, "all requests to ensemble are failing, and others are served"},
		{"one entry fails for long, and the other since it was used last", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Failing[0].Acquitted = true
		}), assess.Failing, "all requests to a, b are failing"},
		{"two entries fail, and a question about one is answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Questions = []assess.Question{{Entry: derive.Entry{Model: "b"}, Asked: two, Answer: assess.Answered}}
		}), assess.Failing, "all requests to a, b are failing"},
		{"both questions are answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Questions = []assess.Question{
				{Entry: derive.Entry{Model: "b"}, Asked: two, Answer: assess.Answered},
				{Entry: derive.Entry{Model: "a"}, Asked: two.Add(-time.Second), Answer: assess.Answered},
			}
		}), assess.Ready, "the requests may be to blame"},
		{"one is answered, the other fails", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Questions = []assess.Question{
				{Entry: derive.Entry{Model: "b"}, Asked: two, Answer: assess.Answered},
				{Entry: derive.Entry{Model: "a"}, Asked: two.Add(-time.Second), Answer: assess.Failed, Reason: "status 500"},
			}
		}), assess.Failing, "and the exporter's own request failed: status 500"},
		{"one version fails, and a question about the other is answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = []derive.Failures{failedSince(derive.Entry{Model: "a", Version: "1"})}
			e.Questions = []assess.Question{{Entry: derive.Entry{Model: "a", Version: "2"}, Asked: two, Answer: assess.Answered}}
		}), assess.Failing, "all requests to version 1 of a are failing"},
		{"one version fails, and a question about it is answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = []derive.Failures{failedSince(derive.Entry{Model: "a", Version: "1"})}
			e.Questions = []assess.Question{{Entry: derive.Entry{Model: "a", Version: "1"}, Asked: two, Answer: assess.Answered}}
		}), assess.Ready, "all requests to version 1 of a are failing, and the exporter's own was answered"},
		{"the reason is that of the question which convicts", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Failing[0].Acquitted = true
			e.Questions = []assess.Question{
				{Entry: derive.Entry{Model: "a"}, Asked: two, Answer: assess.Failed, Reason: "of another model"},
				{Entry: derive.Entry{Model: "b"}, Asked: two.Add(-time.Second), Answer: assess.Failed, Reason: "status 500"},
			}
		}), assess.Failing, "and the exporter's own request failed: status 500"},
		{"a question about the server as a whole is answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing = twoFail()
			e.Questions = []assess.Question{{Asked: two, Answer: assess.Answered}}
		}), assess.Ready, "the requests may be to blame"},
		{"a proxy says for long that it is not ready, and nothing moves", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			denies(e, 40*time.Second, "it says no")
		}), assess.NotReady, "it says no"},
		{"not ready for long, and nothing moves", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			denies(e, 40*time.Second, "it says no")
			e.API.FromServer = true
		}), assess.Stalled, "and the server has said since 13:59 UTC that it is not ready: it says no"},
		{"not ready for long in words of its own, beside a page of the same port", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			denies(e, 40*time.Second, "LLM is unavailable")
			e.API.SamePort = true
		}), assess.Stalled, "and the server has said since 13:59 UTC that it is not ready: LLM is unavailable"},
		{"a router without workers for long, and its requests fail", changed(serving(), func(e *assess.Evidence) {
			e.Routes = true
			e.Failing = failing
			e.Questions = []assess.Question{{Asked: two.Add(-10 * time.Second), Answer: assess.Failed, Reason: "no text"}}
			denies(e, time.Hour, "it has no worker")
		}), assess.Failing, "all requests are failing: it has no worker"},
		{"a router without workers, and nobody asks any more", changed(serving(), func(e *assess.Evidence) {
			e.Routes = true
			e.Failing = []derive.Failures{
				{Requests: 9, Accused: two.Add(-time.Hour), Last: two.Add(-50 * time.Minute)},
			}
			denies(e, time.Hour, "it has no worker")
		}), assess.NotReady, "it has no worker; all requests are failing"},
		{"not ready for a moment, and its requests fail", changed(serving(), func(e *assess.Evidence) {
			e.Failing, e.API.API, e.API.WasReady, e.API.Detail = failing, engine.APINotReady, true, "it says no"
		}), assess.Failing, "all requests are failing: it says no"},
		{"not ready for a moment, and nothing moves", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			denies(e, 20*time.Second, "it says no")
		}), assess.NotReady, "it says no"},
		{"not ready for long, and its page does not come since", changed(serving(), func(e *assess.Evidence) {
			denies(e, 40*time.Second, "it says no")
			e.API.FromServer = true
			e.Scrape = assess.Scrape{Error: "http_status (503)", Seen: true, Since: two.Add(-40 * time.Second)}
		}), assess.NotReady, "http_status (503), and the server has said since 13:59 UTC that it is not ready: it says no"},
		{"never ready since its process started, and nothing moves", changed(serving(), func(e *assess.Evidence) {
			e.Still = hung()
			e.API.API = engine.APINotReady
			e.API.NotReadySince = two.Add(-time.Hour)
			e.API.Detail = "it says no"
		}), assess.NotReady, "it says no"},
		{
			"alive before, and no longer, as Triton 2.36 while it ends",
			assess.Evidence{
				Scrape: assess.Scrape{OK: true},
				API: assess.API{
					Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Found: true, WasLive: true},
				},
			},
			assess.Draining, "no longer live",
		},
		{
			"never alive, as after a failed start with --exit-on-error=false",
			assess.Evidence{
				Scrape: assess.Scrape{OK: true},
				API: assess.API{
					Health: engine.Health{
						API:       engine.APINotReady,
						LiveKnown: true,
						Detail:    "the API answers Bad Request",
						Found:     true,
					},
				},
			},
			assess.NotReady, "Bad Request",
		},
		{
			"no longer alive on one port",
			assess.Evidence{
				Scrape: assess.Scrape{OK: true},
				API: assess.API{
					Health: engine.Health{
						API:       engine.APINotReady,
						LiveKnown: true,
						Detail:    "no",
						Found:     true,
						WasLive:   true,
					},
					SamePort: true,
				},
			},
			assess.NotReady, "no",
		},
		{
			"draining takes precedence over failing",
			assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone}, Failing: failing},
			assess.Draining, "is shutting down",
		},
		{
			"the API answers, the page fails",
			assess.Evidence{
				Scrape: assess.Scrape{Error: "empty", Hint: "check the path"},
				API:    assess.API{Health: api(engine.APIReady)},
			},
			assess.Blind, "empty; check the path",
		},
		{
			"the API is not ready, the page fails",
			assess.Evidence{
				Scrape: assess.Scrape{Error: "http_status (503)", Seen: true},
				API:    assess.API{Health: api(engine.APINotReady)},
			},
			assess.NotReady, "the API said so, and the page fails too: http_status (503)",
		},
		{
			"never ready before",
			assess.Evidence{
				Scrape: assess.Scrape{Unanswered: true, Error: "timeout"},
				API:    assess.API{Health: api(engine.APINotReady)},
			},
			assess.Starting, "the API said so",
		},
		{
			"the page fails otherwise",
			assess.Evidence{
				Scrape: assess.Scrape{Unanswered: true, Error: "timeout", MayStart: true},
				API:    assess.API{Health: api(engine.APIRefused)},
			},
			assess.Down, "timeout",
		},
		{
			"a hanging API",
			assess.Evidence{
				Scrape: assess.Scrape{Unanswered: true, Error: "timeout", Seen: true},
				API:    assess.API{Health: api(engine.APIFailed)},
			},
			assess.Blind, "timeout",
		},
		{
			"a hanging API, twice",
			assess.Evidence{
				Scrape: assess.Scrape{Unanswered: true, Again: true, Error: "timeout", Seen: true},
				API:    assess.API{Health: api(engine.APIFailed)},
			},
			assess.Down, "timeout",
		},
		{
			"something answers, and not with a page",
			assess.Evidence{
				Scrape: assess.Scrape{Error: "http_status (403)", Seen: true},
				API:    assess.API{Health: api(engine.APIFailed)},
			},
			assess.Blind, "says little about its requests: http_status (403)",
		},
		{
			"never before",
			assess.Evidence{Scrape: assess.Scrape{Error: "tls (expired)"}},
			assess.Unknown,
			"never read its page: tls (expired)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := assess.Judge(&c.e)
			require.Equal(t, c.state, v.State, v.Reason)
			require.Contains(t, v.Reason, c.reason)
		})
	}
}

// TestRoutersAreNotRestarted has a frontend whose workers all hang.
func TestRoutersAreNotRestarted(t *testing.T) {
	hangs := changed(serving(), func(e *assess.Evidence) {
		e.Still = hung()
		e.Questions = []assess.Question{{Asked: two.Add(-10 * time.Second), Answer: assess.Failed, Reason: "no text"}}
	})
	for routes, probes := range map[bool]assess.Probes{
		false: {Judged: true, Accused: true},
		true:  {Judged: true, Accused: true, Live: true},
	} {
		hangs.Routes = routes
		v := assess.Judge(&hangs)
		require.Equal(t, assess.Stalled, v.State)
		require.Equal(t, probes, v.Probes)
	}
}

// two is two o'clock, when the verdicts are given.
var two = time.Date(2026, 1, 1, 14, 0, 0, 0, time.UTC)

// failedSince returns the failures of an entry, which began a minute ago.
func failedSince(entry derive.Entry) derive.Failures {
	return derive.Failures{Entry: entry, Requests: 9, Accused: two.Add(-time.Minute), Last: two}
}

// hung returns work that makes no progress for a minute.
func hung() derive.Stillness { return derive.Stillness{InFlight: 42, Since: two.Add(-time.Minute)} }

// twoFail returns the failures of two entries, one of which began long before the other.
func twoFail() []derive.Failures {
	return []derive.Failures{
		{Entry: derive.Entry{Model: "a"}, Requests: 9, Accused: two.Add(-time.Hour), Last: two},
		{Entry: derive.Entry{Model: "b"}, Requests: 9, Accused: two.Add(-time.Minute), Last: two},
	}
}

// partFails returns the failures of a part, as of a BLS model.
func partFails() []derive.Failures {
	return []derive.Failures{
		{Entry: derive.Entry{Model: "tensorrt_llm_bls"}, Part: "postprocessing", Requests: 5, Accused: two.Add(-time.Minute), Last: two},
	}
}

// TestLatePageOfLoadingServerRestartsNothing uses a server that has said for an hour that it is not ready, as one
// that reloads a large model does.
func TestLatePageOfLoadingServerRestartsNothing(t *testing.T) {
	for _, c := range []struct {
		says  string
		since time.Duration
		want  string
	}{
		{"its page is late for the first time", 0, "not_ready (ready 503)"},
		{"its page is late for less than stall_after", 29 * time.Second, "not_ready (ready 503)"},
		{"its page has not come for stall_after", 30 * time.Second, "not_ready (live 503)"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e := serving()
			e.Scrape = assess.Scrape{Seen: true, Unanswered: true, Again: true, Since: two.Add(-c.since)}
			e.API.API, e.API.WasReady, e.API.FromServer = engine.APINotReady, true, true
			e.API.NotReadySince, e.API.Detail = two.Add(-time.Hour), "it loads"
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// requireVerdict compares a verdict in short: its state, "suspected" for a ready one that is, and the probe that fails,
// where live fails both do.
func requireVerdict(t *testing.T, want string, v assess.Verdict) {
	t.Helper()
	got := string(v.State)
	if v.Suspected && v.State == assess.Ready {
		got = "suspected"
	}
	switch p := v.Probes; {
	case !p.Live && p.Ready:
		got += " (ready 200, live 503)"
	case !p.Live:
		got += " (live 503)"
	case !p.Ready:
		got += " (ready 503)"
	}
	require.Equal(t, want, got, v.Reason)
}

func changed(e assess.Evidence, change func(*assess.Evidence)) assess.Evidence {
	change(&e)
	return e
}

// denies has a server that was ready say for a time that it is not.
func denies(e *assess.Evidence, length time.Duration, detail string) {
	e.API.API, e.API.Detail = engine.APINotReady, detail
	e.API.WasReady, e.API.NotReadySince = true, two.Add(-length)
}

// serving returns the evidence of a healthy replica.
func serving() assess.Evidence {
	return assess.Evidence{
		Now:        two,
		StallAfter: 30 * time.Second,
		Window:     time.Minute,
		Scrape:     assess.Scrape{OK: true},
		API:        assess.API{Health: engine.Health{API: engine.APIReady, Detail: "the API answers 200"}},
	}
}

func TestSeverity(t *testing.T) {
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Minute), Last: two}}
	failed := assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Error: "timeout"}}
	for _, c := range []struct {
		name     string
		e        assess.Evidence
		severity assess.Severity
		runbook  string
		reason   string
	}{
		{
			"a rank without a port",
			assess.Evidence{Silent: true},
			assess.OK, "",
			"this rank binds no port; it is reported through its leader",
		},
		{"the canary failed twice, nobody else asks", changed(serving(), func(e *assess.Evidence) {
			e.Canary = assess.Canary{Failed: "the canary request failed (stalled): no text", Twice: true}
		}), assess.Broken, "LLMCanaryFailing", "the API answers 200; the canary request failed (stalled): no text"},
		{"a question and the canary got the same answer, which is told once", changed(serving(), func(e *assess.Evidence) {
			e.Failing = failing
			e.Questions = []assess.Question{{Asked: two, Answer: assess.Failed, Reason: "it is not healthy."}}
			e.Canary.Failed = "the canary request failed (http_error): it is not healthy."
		}), assess.Broken, "LLMReplicaBroken", "all requests are failing, although its API reports ready, and the " +
			"exporter's own request failed: it is not healthy."},
		{"a question and the canary got other answers", changed(serving(), func(e *assess.Evidence) {
			e.Failing = failing
			e.Questions = []assess.Question{{Asked: two, Answer: assess.Failed, Reason: "it is not healthy"}}
			e.Canary.Failed = "the canary request failed (timeout): no text"
		}), assess.Broken, "LLMReplicaBroken", "all requests are failing, although its API reports ready, and the " +
			"exporter's own request failed: it is not healthy; the canary request failed (timeout): no text"},
		{"the server's own words end with a period", changed(serving(), func(e *assess.Evidence) {
			e.API.Detail = "It is ready."
			e.Canary.Failed = "the canary request failed (refused)"
		}), assess.Look, "LLMCanaryFailing", "It is ready; the canary request failed (refused)"},
		{"the canary waits in a queue", changed(serving(), func(e *assess.Evidence) {
			e.Canary = assess.Canary{
				Failed: "the canary request failed (no_first_token)",
				Late:   true,
				Twice:  true,
				Moved:  true,
			}
		}), assess.Look, "LLMPoolSaturated", "the API answers 200; its canary waited too long, or was " +
			"rejected, behind other requests, which make progress"},
		{"the canary fails, others are served", changed(serving(), func(e *assess.Evidence) {
			e.Canary = assess.Canary{Failed: "the canary request failed (error_frame)", Others: 12}
		}), assess.Look, "LLMCanaryFailing", "the API answers 200; the canary request failed (error_frame); 12 " +
			"requests of others ended well since"},
		{
			"the canary failed once",
			changed(serving(), func(e *assess.Evidence) { e.Canary.Failed = "the canary request failed (refused)" }),
			assess.Look, "LLMCanaryFailing", "the API answers 200; the canary request failed (refused)",
		},
		{"only failures end, a question was answered", changed(serving(), func(e *assess.Evidence) {
			e.Failing, e.Questions = failing, []assess.Question{{Asked: two, Answer: assess.Answered}}
		}), assess.Look, "LLMReplicaBroken", "the API answers 200; all requests are failing, and the exporter's own " +
			"was answered: the requests may be to blame"},
		{
			"failures not exposed",
			changed(serving(), func(e *assess.Evidence) { e.Unobservable = "it counts no errors" }), assess.OK, "",
			"the API answers 200; whether its requests fail is unknown: it counts no errors",
		},
		{
			"failures of one model not exposed",
			changed(serving(), func(e *assess.Evidence) { e.Uncounted = []string{"model bls is decoupled"} }),
			assess.OK, "", "the API answers 200; whether some requests fail is unknown: model bls is decoupled",
		},
		{
			"failures not exposed, known to fail",
			changed(serving(), func(e *assess.Evidence) { e.Unobservable, e.Failing = "it counts no errors", failing }),
			assess.Broken, "LLMReplicaBroken", "all requests are failing, although its API reports ready",
		},
		{
			"suspected", changed(serving(), func(e *assess.Evidence) { e.Still = hung() }), assess.Look,
			"LLMReplicaSuspected",
			"the API answers 200; 42 requests are in flight, but nothing has moved since 13:59 UTC; they " +
				"may be gone, or take long",
		},
		{
			"one model suspected", changed(serving(), func(e *assess.Evidence) {
				e.Still = hung()
				e.Still.Entry, e.Still.Partly = derive.Entry{Model: "llama"}, true
			}), assess.Look, "LLMReplicaSuspected",
			"the API answers 200; 42 requests to llama are in flight, but nothing there has moved since 13:59 UTC; " +
				"they may be gone, or take long",
		},
		{
			"three models suspected", changed(serving(), func(e *assess.Evidence) {
				for _, model := range []string{"llama", "qwen", "phi"} {
					still := hung()
					still.Entry = derive.Entry{Model: model}
					e.AllStill = append(e.AllStill, still)
				}
			}), assess.Look, "LLMReplicaSuspected",
			"the API answers 200; 42 requests to llama are in flight, but nothing there has moved since 13:59 UTC, nor " +
				"at 2 others; they may be gone, or take long",
		},
		{"also known not to be ready", changed(serving(), func(e *assess.Evidence) {
			e.API.API, e.API.Detail, e.Still = engine.APINotReady, "it is not ready", hung()
		}), assess.Broken, "LLMReplicaNotUp", "it is not ready"},
		{
			"one of another version",
			changed(serving(), func(e *assess.Evidence) { e.Unmet = "unexpected engine_version" }), assess.Look,
			"LLMExpectationMismatch", "the API answers 200; unexpected engine_version",
		},
		{
			"one of several behind its address", changed(serving(), func(e *assess.Evidence) { e.Processes = 3 }),
			assess.Look, "LLMReplicaProcesses",
			"the API answers 200; at least 3 processes answer at this address in turn, so that nothing is derived " +
				"from their pages: give each its own address",
		},
		{
			"one of several, and the canary fails: by which of them it succeeded before nobody knows",
			changed(serving(), func(e *assess.Evidence) {
				e.Processes, e.Canary = 3, assess.Canary{Failed: "the canary request failed", Twice: true}
			}),
			assess.Look, "LLMReplicaProcesses",
			"the API answers 200; at least 3 processes answer at this address in turn, so that nothing is derived " +
				"from their pages: give each its own address; the canary request failed",
		},
		{
			"one with another's page",
			changed(serving(), func(e *assess.Evidence) {
				e.Mismatch = "the page looks like that of nim, engine says dynamo"
			}),
			assess.Look, "", "the page looks like that of nim, engine says dynamo: correct engine or leave it out; the API answers 200",
		},
		{
			"one with another's page, whose API was asked like that of the wrong kind",
			changed(serving(), func(e *assess.Evidence) {
				e.Mismatch, e.API = "the page looks like that of triton, engine says vllm", assess.API{
					Health: engine.Health{API: engine.APIUnknown, Detail: "what answers is of another kind; set api_port"},
				}
			}),
			assess.Look, "", "the page looks like that of triton, engine says vllm: correct engine or leave it out; the page answers",
		},
		{
			"of two things the worse counts",
			changed(serving(), func(e *assess.Evidence) {
				e.Unmet, e.Canary = "a", assess.Canary{Failed: "b", Twice: true}
			}),
			assess.Broken, "LLMCanaryFailing", "the API answers 200; a; b",
		},
		{
			"the first of two equal severities",
			changed(serving(), func(e *assess.Evidence) { e.Mismatch, e.Unmet = "a", "b" }), assess.Look, "",
			"a: correct engine or leave it out; the API answers 200; b",
		},
		{
			"of another kind, whose failures nobody can judge",
			changed(serving(), func(e *assess.Evidence) {
				e.Mismatch, e.Unobservable = "it looks like triton", "set a flag of vllm"
			}),
			assess.Look, "", "it looks like triton: correct engine or leave it out; the API answers 200",
		},
		{
			"and so its state", changed(failed, func(e *assess.Evidence) { e.Canary.Failed = "a" }), assess.Broken,
			"LLMReplicaDown", "timeout; a",
		},
		{
			"the reason of a broken state is kept", changed(failed, func(e *assess.Evidence) { e.Unmet = "a" }),
			assess.Broken, "LLMReplicaDown", "timeout; a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := assess.Judge(&c.e)
			require.Equal(t, c.severity, v.Severity)
			require.Equal(t, c.runbook, v.Runbook)
			require.Equal(t, c.reason, v.Reason)
			require.Equal(t, c.runbook == "LLMReplicaSuspected", v.Suspected)
		})
	}
}

func TestRunbookAnchorsExist(t *testing.T) {
	runbook, err := os.ReadFile("../../alerts/runbook.md")
	require.NoError(t, err)
	for _, entry := range assess.Runbooks() {
		require.Contains(t, string(runbook), "\n### "+entry+"\n")
	}
}

// TestModelsWithoutWorkersAreNamed has a router whose page says for which models it has no worker.
func TestModelsWithoutWorkersAreNamed(t *testing.T) {
	for _, c := range []struct {
		name     string
		models   []string
		none     bool
		verdict  string
		severity assess.Severity
		want     string
	}{
		{"all have workers", nil, false, "ready", assess.OK, "the API answers 200"},
		{
			"one has none",
			[]string{"b"},
			false, "ready", assess.Look,
			"the API answers 200; the page shows no worker for b",
		},
		{
			"many have none",
			[]string{"b", "c", "d", "e", "f", "g"},
			false, "ready", assess.Look,
			"the API answers 200; the page shows no worker for b, c, d, e and 2 more",
		},
		{
			"none has any",
			[]string{"b"},
			true, "not_ready (ready 503)", assess.Broken,
			"the page shows no worker for any of its models",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := assess.Judge(&assess.Evidence{
				Scrape:         assess.Scrape{OK: true},
				API:            assess.API{Health: engine.Health{API: engine.APIReady, Detail: "the API answers 200"}},
				Routes:         true,
				Unrouted:       c.none,
				UnroutedModels: c.models,
			})
			requireVerdict(t, c.verdict, v)
			require.Equal(t, c.severity, v.Severity)
			require.Equal(t, c.want, v.Reason)
		})
	}
}

func TestStateSeverities(t *testing.T) {
	severities, order := assess.Severities(), []assess.Severity{assess.Broken, assess.Look, assess.OK}
	require.Len(t, severities, len(assess.States())+1, "each state once, and that of a rank without a port")
	require.True(t, slices.IsSortedFunc(assess.States(), func(a, b assess.State) int {
		return slices.Index(order, severities[a]) - slices.Index(order, severities[b])
	}), "the worst is first")
	for s, severity := range severities {
		require.Equal(t, s == assess.Ready || s == assess.Silent, severity == assess.OK, s)
	}
}

func TestBlindReplicaServesAsBefore(t *testing.T) {
	page := assess.Scrape{OK: true, Seen: true}
	gone := assess.Scrape{Error: "http_status (500)", Seen: true}
	withheld := assess.Scrape{Error: "http_status (401)", Withheld: true}
	failing := []derive.Failures{{Requests: 5, Accused: two.Add(-time.Second), Last: two}}
	unanswered := assess.Question{Asked: two, Answer: assess.Failed, Reason: "no text"}
	evidence := func(s assess.Scrape, api engine.APIState) assess.Evidence {
		e := serving()
		e.Scrape, e.API.API = s, api
		return e
	}
	for _, c := range []struct {
		name  string
		lives []assess.Evidence
		want  bool
	}{
		{"it was ready", []assess.Evidence{evidence(page, engine.APIUnknown), evidence(gone, engine.APIUnknown)}, true},
		{
			"it was ready, and its page is withheld since",
			[]assess.Evidence{evidence(page, engine.APIUnknown), evidence(withheld, engine.APIUnknown)},
			true,
		},
		{
			"it was suspected",
			[]assess.Evidence{
				changed(evidence(page, engine.APIReady), func(e *assess.Evidence) { e.Still = hung() }),
				evidence(gone, engine.APIReady),
			},
			true,
		},
		{
			"all requests failed",
			[]assess.Evidence{
				changed(evidence(page, engine.APIReady), func(e *assess.Evidence) { e.Failing = failing }),
				evidence(gone, engine.APIReady),
			},
			false,
		},
		{
			"it hung",
			[]assess.Evidence{
				changed(evidence(page, engine.APIReady), func(e *assess.Evidence) {
					e.Still, e.Questions = hung(), []assess.Question{unanswered}
				}),
				evidence(gone, engine.APIReady),
			},
			false,
		},
		{
			"it said that it was not ready",
			[]assess.Evidence{evidence(page, engine.APINotReady), evidence(gone, engine.APIUnknown)},
			false,
		},
		{
			"it was not ready, and its API is",
			[]assess.Evidence{evidence(page, engine.APINotReady), evidence(gone, engine.APIReady)},
			true,
		},
		{
			"it was down",
			[]assess.Evidence{
				evidence(assess.Scrape{Unanswered: true, Refused: true, Again: true, Seen: true}, engine.APIRefused),
				evidence(gone, engine.APIUnknown),
			},
			false,
		},
		{"nobody ever read its page", []assess.Evidence{evidence(withheld, engine.APIUnknown)}, false},
		{
			"nobody ever read its page, and its API is ready",
			[]assess.Evidence{evidence(withheld, engine.APIReady)},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var previous assess.Judgment
			var v assess.Verdict
			for _, e := range c.lives {
				e.Previous = previous
				v = assess.Judge(&e)
				previous = assess.Judgment{State: v.State, Probes: v.Probes}
			}
			require.Equal(t, assess.Blind, v.State)
			require.Equal(t, c.want, assess.Serves(v.State, v.Probes.Ready))
		})
	}
}
