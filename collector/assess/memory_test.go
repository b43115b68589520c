package assess_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestCanaryFailsTwiceWhileNobodyElseIsServed has a canary that succeeded once, and pages around
// its failed requests: whether others are served is known only from pages that came since.
func TestCanaryFailsTwiceWhileNobodyElseIsServed(t *testing.T) {
	const (
		ok     = "the canary succeeds"
		fails  = "it fails"
		quiet  = "a page, nobody was served"
		served = "a page, others were served"
		late   = "no page"
	)
	for _, tc := range []struct {
		name  string
		steps []string
		twice bool
	}{
		{"nothing is known of others yet", []string{ok, quiet, fails, fails}, false},
		{"one page is not enough to compare", []string{ok, quiet, fails, fails, quiet}, false},
		{"nobody was served", []string{ok, quiet, fails, fails, quiet, quiet}, true},
		{"nobody was served between both", []string{ok, quiet, fails, quiet, quiet, fails}, true},
		{"others were served between both", []string{ok, quiet, fails, quiet, served, fails, quiet, quiet}, false},
		{
			"others were served between both, and it fails again",
			[]string{ok, quiet, fails, quiet, served, fails, fails, quiet, quiet},
			true,
		},
		{"others were served afterwards", []string{ok, quiet, fails, fails, quiet, served}, false},
		{"a third request changes nothing", []string{ok, quiet, fails, fails, quiet, quiet, fails}, true},
		{"one page is late", []string{ok, quiet, fails, fails, late}, false},
		{"the page does not come", []string{ok, quiet, fails, fails, late, late}, true},
		{"the canary succeeds again", []string{ok, quiet, fails, fails, quiet, quiet, ok}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m assess.Memory
			m.Canary.Order(&canary.Order{Key: "a"})
			now, ended := time.Unix(1_000_000, 0), 7.0
			for _, step := range tc.steps {
				now = now.Add(time.Second)
				switch step {
				case served:
					ended += 3
					fallthrough
				case quiet:
					m.Page(now, &derive.Conditions{Counts: derive.Counts{Served: ended}})
				case late:
					m.NoPage(now, false)
				default:
					m.CanaryAsked(now)
					result := map[string]canary.Result{ok: canary.OK, fails: canary.HTTPError}[step]
					m.Canary.Take(canary.Report{Result: result}, time.Second)
					m.CanaryAnswered()
				}
			}
			var e assess.Evidence
			m.Recall(&e)
			require.Equal(t, tc.twice, e.Canary.Twice)
		})
	}
}

// TestCanaryMayWaitWhereNoStepIsShown has a canary that gets no word after it succeeded, behind requests of others in
// flight.
func TestCanaryMayWaitWhereNoStepIsShown(t *testing.T) {
	for _, c := range []struct {
		name     string
		result   canary.Result
		stepless bool
		apart    time.Duration
		twice    bool
	}{
		{"the page shows steps, and none came", canary.NoFirstToken, false, 10 * time.Second, true},
		{"the page shows none", canary.NoFirstToken, true, 10 * time.Second, false},
		{"the page shows none, a minute later", canary.NoFirstToken, true, time.Minute, true},
		{"it is answered with an error", canary.HTTPError, true, 10 * time.Second, true},
	} {
		var m assess.Memory
		m.Canary.Order(&canary.Order{Key: "a"})
		at := time.Unix(1_000_000, 0)
		for n, result := range []canary.Result{canary.OK, c.result, c.result} {
			at = at.Add(time.Duration(n) * c.apart)
			m.CanaryAsked(at)
			m.Canary.Take(canary.Report{Result: result, Asked: at}, time.Second)
			m.CanaryAnswered()
			for page := range 3 {
				requested := at.Add(time.Duration(page+1) * time.Second)
				m.Page(requested, &derive.Conditions{Counts: derive.Counts{Served: 7}, Stepless: c.stepless})
			}
		}
		var e assess.Evidence
		m.Recall(&e)
		require.Equal(t, c.twice, e.Canary.Twice, c.name)
	}
}

// TestQuestionIsAskedIfItCouldSettleSomething asks for each sign of the pages whether the answer to a
// question could say more about it.
func TestQuestionIsAskedIfItCouldSettleSomething(t *testing.T) {
	fails := derive.Failures{Entry: derive.Entry{Model: "m"}, Requests: 9}
	acquitted := derive.Failures{Entry: derive.Entry{Model: "n"}, Requests: 9, Acquitted: true}
	part := derive.Failures{Entry: derive.Entry{Model: "m"}, Part: "preprocessing", Requests: 9}
	failing := func(entries ...derive.Failures) derive.Conditions {
		return derive.Conditions{Failing: entries}
	}
	for _, c := range []struct {
		name string
		show derive.Conditions
		asks bool
	}{
		{"nothing", derive.Conditions{}, false},
		{"nothing moves", derive.Conditions{Still: []derive.Stillness{{InFlight: 3}}}, true},
		{
			"nothing moves of a part of the work",
			derive.Conditions{Still: []derive.Stillness{{InFlight: 3, Partly: true}}},
			false,
		},
		{
			"nothing moves of two models",
			derive.Conditions{Still: []derive.Stillness{
				{Entry: derive.Entry{Model: "a"}, InFlight: 1},
				{Entry: derive.Entry{Model: "b"}, InFlight: 3},
			}},
			true,
		},
		{"only failures end", failing(fails), true},
		{"a request ended well since", failing(acquitted), false},
		{"it ended before another entry began to fail", failing(acquitted, fails), true},
		{"a part fails, and a request was accepted since", failing(part), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			now := time.Unix(1_000_000, 0)
			m.Page(now, &c.show)
			since, asks := m.MayAsk(now)
			require.Equal(t, c.asks, asks)
			require.Equal(t, c.asks, since.Equal(now), "since when it is accused")
			m.Asked(now, derive.Entry{})
			_, again := m.MayAsk(now.Add(time.Second))
			require.False(t, again, "it was just asked")
		})
	}
}

// TestEachAccusedEntryIsAskedAbout asks one question after the other.
func TestEachAccusedEntryIsAskedAbout(t *testing.T) {
	var m assess.Memory
	now := time.Unix(1_000_000, 0)
	c := derive.Conditions{Failing: []derive.Failures{
		{Entry: derive.Entry{Model: "served"}, Requests: 9, Acquitted: true},
		{Entry: derive.Entry{Model: "a"}, Requests: 9},
		{Entry: derive.Entry{Model: "b"}, Requests: 9},
	}}
	var asked []string
	for range 4 {
		now = now.Add(time.Minute)
		m.Page(now, &c)
		entry, _ := m.About()
		m.Asked(now, entry)
		m.Answer(canary.Report{Result: canary.OK, Asked: now}, false)
		asked = append(asked, entry.Model)
	}
	require.Equal(t, []string{"a", "b", "a", "b"}, asked)
}

// TestQuestionBehindOthersProvesNothing has a question that waits in a queue while the engine works.
func TestQuestionBehindOthersProvesNothing(t *testing.T) {
	for _, c := range []struct {
		says   string
		result canary.Result
		steps  int
		want   assess.Answer
	}{
		{"no text, and the engine went on", canary.NoFirstToken, 1, assess.NotAsked},
		{"no text, and nothing moved", canary.NoFirstToken, 0, assess.Failed},
		{"an error, while the engine went on", canary.HTTPError, 1, assess.Failed},
		{"a connection that is cut off, while the engine went on", canary.Connect, 1, assess.NotAsked},
		{"a connection that is cut off, and nothing moved", canary.Connect, 0, assess.Unheard},
		{"a text, while the engine went on", canary.OK, 1, assess.Answered},
	} {
		t.Run(c.says, func(t *testing.T) {
			var m assess.Memory
			now := time.Unix(1_000_000, 0)
			page := func(steps int) *derive.Conditions { return &derive.Conditions{Counts: derive.Counts{Advances: steps}} }
			m.Page(now, page(5))
			m.Asked(now, derive.Entry{})
			m.Page(now.Add(time.Second), page(5+c.steps))
			m.Answer(canary.Report{Result: c.result, Asked: now, Reason: "no text within 3s"}, false)
			e := assess.Evidence{Scrape: assess.Scrape{OK: true}}
			m.Recall(&e)
			e.Failing = []derive.Failures{{Requests: 4, Accused: now.Add(-time.Second)}}
			require.Equal(t, c.want, e.Witnesses().Question)
		})
	}
}

// TestLongRequestInFrontRestartsNothing has a server that counts a request when it ends, and shows no step
// of one that runs.
func TestLongRequestInFrontRestartsNothing(t *testing.T) {
	type question struct {
		after  time.Duration
		result canary.Result
	}
	silent := func(after time.Duration) question { return question{after, canary.NoFirstToken} }
	for _, c := range []struct {
		says      string
		questions []question
		steps     bool
		want      string
	}{
		{"one question, and the page would show steps", []question{silent(31 * time.Second)}, true, "stalled (live 503)"},
		{"one question", []question{silent(31 * time.Second)}, false, "stalled (ready 503)"},
		{
			"the canary repeats its request at once",
			[]question{silent(31 * time.Second), silent(42 * time.Second)},
			false, "stalled (ready 503)",
		},
		{
			"a minute later another one",
			[]question{silent(31 * time.Second), silent(91 * time.Second)},
			false, "stalled (live 503)",
		},
		{
			"a third one, though the second was soon",
			[]question{silent(31 * time.Second), silent(42 * time.Second), silent(102 * time.Second)},
			false, "stalled (live 503)",
		},
		{
			"one before the work stood still, and one since",
			[]question{silent(-20 * time.Second), silent(25 * time.Second)},
			false, "stalled (ready 503)",
		},
		{
			"one was answered in between",
			[]question{silent(31 * time.Second), {91 * time.Second, canary.OK}, silent(151 * time.Second)},
			false, "stalled (ready 503)",
		},
		{"an answer", []question{silent(31 * time.Second), {91 * time.Second, canary.OK}}, false, "ready"},
		{"an error", []question{{31 * time.Second, canary.HTTPError}}, true, "stalled (ready 503)"},
		{
			"an error, where a question was answered before",
			[]question{{-100 * time.Second, canary.OK}, {31 * time.Second, canary.HTTPError}},
			true, "stalled (live 503)",
		},
		{"a connection that is cut off", []question{{31 * time.Second, canary.Connect}}, true, "stalled (ready 503)"},
		{
			"a connection that is cut off again",
			[]question{{31 * time.Second, canary.Connect}, {92 * time.Second, canary.Connect}},
			true, "stalled (ready 503)",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			var m assess.Memory
			since := time.Unix(1_000_000, 0)
			for _, q := range c.questions {
				at := since.Add(q.after)
				m.Asked(at, derive.Entry{})
				m.Answer(canary.Report{Result: q.result, Asked: at, Reason: "no text within 10s"}, false)
			}
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 3, Since: since, Stepless: !c.steps}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestAnswerThatPagesContradict has a server whose own check answers 200, of which its page shows no step, or one.
func TestAnswerThatPagesContradict(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name          string
		frames, steps int
		stepless      bool
		want          string
	}{
		{"its page shows nothing of it", 0, 7, false, "suspected"},
		{"its page shows a step", 0, 8, false, "ready"},
		{"its page never shows steps", 0, 7, true, "ready"},
		{"a token came", 1, 7, false, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			asked := since.Add(31 * time.Second)
			m.Page(asked, &derive.Conditions{Counts: derive.Counts{Steps: 7}})
			m.Asked(asked, derive.Entry{})
			m.Answer(canary.Report{Result: canary.OK, Asked: asked, Frames: c.frames}, false)
			m.Page(asked.Add(5*time.Second), &derive.Conditions{Counts: derive.Counts{Steps: c.steps}})
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 3, Since: since, Stepless: c.stepless}
				e.ShowsSelfTest = true
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestQuestionThatIsNotInTheEngine has requests that left the engine, or never got there, of which nothing moves, and a
// question without a word: where the engine went on and holds nothing, it did not wait there.
func TestQuestionThatIsNotInTheEngine(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	asked := since.Add(31 * time.Second)
	for _, c := range []struct {
		name      string
		requested time.Time
		inFlight  float64
		advances  int
		want      string
	}{
		{"the engine went on, and holds others", asked.Add(time.Second), 2, 8, "suspected"},
		{"it went on, and holds none", asked.Add(time.Second), 0, 8, "stalled (live 503)"},
		{"a page of before shows that", asked.Add(-time.Second), 0, 8, "suspected"},
		{"it holds none, and did nothing", asked.Add(time.Second), 0, 7, "stalled (live 503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			conditions := func(inFlight float64, advances int) *derive.Conditions {
				return &derive.Conditions{
					Still:         []derive.Stillness{{InFlight: 3, Outside: true}},
					InFlight:      inFlight,
					InFlightKnown: true,
					Counts:        derive.Counts{Advances: advances},
				}
			}
			m.Page(asked.Add(-2*time.Second), conditions(3, 7))
			m.Page(asked, conditions(3, 7))
			m.Asked(asked, derive.Entry{})
			m.Page(c.requested, conditions(c.inFlight, c.advances))
			m.Answer(canary.Report{Result: canary.NoFirstToken, Asked: asked, Reason: "no text within 10s"}, false)
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 3, Since: since}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestSilenceBehindNewWork has clients that left one by one, and work that came just now. One question may have
// waited for that, two in a row did not.
func TestSilenceBehindNewWork(t *testing.T) {
	var m assess.Memory
	since := time.Unix(1_000_000, 0)
	for n, want := range []string{"suspected", "stalled (live 503)"} {
		at := since.Add(time.Duration(31+61*n) * time.Second)
		m.Asked(at, derive.Entry{})
		m.Answer(canary.Report{Result: canary.NoFirstToken, Asked: at, Reason: "no text within 10s"}, false)
		e := changed(serving(), func(e *assess.Evidence) {
			e.Still = derive.Stillness{InFlight: 1, Since: since, Pieced: true}
			m.Recall(e)
		})
		requireVerdict(t, want, assess.Judge(&e))
	}
}

// TestQuestionThatSaysNothingLeavesTimeForAnother has two models of whose work nothing moves, one of which cannot be
// asked.
func TestQuestionThatSaysNothingLeavesTimeForAnother(t *testing.T) {
	c := &derive.Conditions{Still: []derive.Stillness{
		{Entry: derive.Entry{Model: "embeds"}, InFlight: 1},
		{Entry: derive.Entry{Model: "talks"}, InFlight: 4},
	}}
	var m assess.Memory
	now, asked := time.Unix(1_000_000, 0), []string(nil)
	for range 150 {
		now = now.Add(time.Second)
		m.Page(now, c)
		if _, ok := m.MayAsk(now); !ok {
			continue
		}
		entry, _ := m.About()
		asked = append(asked, entry.Model)
		m.Asked(now, entry)
		report := canary.Report{Result: canary.NoFirstToken, Asked: now, At: now}
		if entry.Model == "embeds" {
			report = canary.Report{}
		}
		m.Answer(report, false)
	}
	require.Equal(t, []string{"embeds", "talks", "embeds", "talks"}, asked, "of models one a minute")
}

// TestWayOfQuestion has what is accused, and whether the question must take the way of clients.
func TestWayOfQuestion(t *testing.T) {
	failing := []derive.Failures{{Entry: derive.Entry{Model: "a"}, Requests: 9}}
	acquitted := []derive.Failures{{Entry: derive.Entry{Model: "a"}, Requests: 9, Acquitted: true}}
	still := []derive.Stillness{{Entry: derive.Entry{Model: "a"}, InFlight: 4}}
	for name, tt := range map[string]struct {
		accused    derive.Conditions
		remembered bool
		want       bool
	}{
		"only failures end":                              {derive.Conditions{Failing: failing}, false, true},
		"only failures end, and nothing moves":           {derive.Conditions{Failing: failing, Still: still}, false, true},
		"nothing moves":                                  {derive.Conditions{Still: still}, false, false},
		"nothing moves, and others ended well":           {derive.Conditions{Failing: acquitted, Still: still}, false, false},
		"only failures end, the server remembers a hang": {derive.Conditions{Failing: failing}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m assess.Memory
			now := time.Unix(1_000_000, 0)
			m.Page(now, &derive.Conditions{Still: still})
			m.Asked(now, derive.Entry{})
			m.Answer(canary.Report{Result: canary.NoFirstToken, SelfTest: true, Asked: now}, tt.remembered)
			m.Page(now, &tt.accused)
			_, got := m.About()
			require.Equal(t, tt.want, got)
		})
	}
}

// TestHealthCheckAnswersForStillnessAlone has a server whose own health check is answered while a model fails.
func TestHealthCheckAnswersForStillnessAlone(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	asked := assess.Question{Asked: since.Add(time.Minute), Answer: assess.Answered, SelfTest: true}
	request := assess.Question{Asked: since.Add(30 * time.Second), Answer: assess.Answered}
	failures := []derive.Failures{{Requests: 9, Accused: since, Last: since.Add(time.Minute)}}
	for name, tt := range map[string]struct {
		failing   []derive.Failures
		questions []assess.Question
		want      assess.Answer
	}{
		"only failures end":                          {failures, []assess.Question{asked}, assess.NotAsked},
		"only failures end, and a request before it": {failures, []assess.Question{asked, request}, assess.Answered},
		"nothing moves":                              {nil, []assess.Question{asked}, assess.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			e := serving()
			e.Now, e.Failing, e.Questions = since.Add(2*time.Minute), tt.failing, tt.questions
			if tt.failing == nil {
				e.AllStill = []derive.Stillness{{InFlight: 4, Since: since}}
			}
			require.Equal(t, tt.want, assess.Judge(&e).Witnesses.Question)
		})
	}
}

// TestEachStillnessIsJudgedByItsOwnQuestion has two models of whose work nothing moves, for one of which the server
// answers.
func TestEachStillnessIsJudgedByItsOwnQuestion(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	still := []derive.Stillness{
		{Entry: derive.Entry{Model: "leaks"}, InFlight: 1, Since: since},
		{Entry: derive.Entry{Model: "hangs"}, InFlight: 4, Since: since},
	}
	var m assess.Memory
	c := &derive.Conditions{Still: still}
	for n, result := range []canary.Result{canary.OK, canary.NoFirstToken} {
		at := since.Add(time.Duration(n+1) * time.Minute)
		m.Page(at, c)
		entry, _ := m.About()
		require.Equal(t, still[n].Model, entry.Model, "what was not asked about comes first")
		m.Asked(at, entry)
		m.Answer(canary.Report{Result: result, Asked: at, Reason: "no text within 10s"}, false)
	}
	e := serving()
	m.Recall(&e)
	v := assess.Judge(&e)
	requireVerdict(t, "stalled (live 503)", v)
	require.Contains(t, v.Reason, "4 requests to hangs")
}

// TestQuestionBehindAnOperatorProvesNothing has a server whose scheduler does what an operator asks of it.
func TestQuestionBehindAnOperatorProvesNothing(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	for called, want := range map[bool]string{true: "suspected", false: "stalled (live 503)"} {
		e := changed(serving(), func(e *assess.Evidence) {
			e.Called = called
			e.Still = derive.Stillness{InFlight: 4, Since: since}
			e.Questions = []assess.Question{{Asked: since.Add(time.Minute), Answer: assess.Failed}}
		})
		requireVerdict(t, want, assess.Judge(&e))
	}
}

// TestErrorThatOthersRefuteRestartsNothing has a canary that fails while requests of others end well, until one
// long request stands in front, and the canary fails again.
func TestErrorThatOthersRefuteRestartsNothing(t *testing.T) {
	const others canary.Result = "others are served"
	for _, c := range []struct {
		says   string
		before []canary.Result
		last   canary.Result
		want   string
	}{
		{"it never succeeded, and others did", []canary.Result{canary.HTTPError, others}, canary.HTTPError, "suspected"},
		{"it never succeeded, and nobody else was served", []canary.Result{canary.HTTPError}, canary.HTTPError, "suspected"},
		{"it succeeded before", []canary.Result{canary.OK}, canary.HTTPError, "stalled (live 503)"},
		{
			"what was nearly done ended after the first failure",
			[]canary.Result{canary.OK, canary.HTTPError, others},
			canary.HTTPError, "stalled (live 503)",
		},
		{
			"others were served again and again",
			[]canary.Result{canary.OK, canary.HTTPError, others, canary.ErrorFrame, others},
			canary.HTTPError, "suspected",
		},
		{
			"it succeeded again since",
			[]canary.Result{canary.HTTPError, others, canary.OK},
			canary.HTTPError, "stalled (live 503)",
		},
		{"now there is no answer", []canary.Result{canary.HTTPError, others}, canary.NoFirstToken, "stalled (live 503)"},
	} {
		t.Run(c.says, func(t *testing.T) {
			var m assess.Memory
			m.Canary.Order(&canary.Order{Key: "a"})
			since := time.Unix(1_000_000, 0)
			for _, result := range c.before {
				if result == others {
					m.Canary.Acquit()
					continue
				}
				m.Canary.Take(canary.Report{Result: result, Asked: since.Add(-time.Minute)}, time.Second)
			}
			m.Canary.Take(canary.Report{Result: c.last, Asked: since.Add(31 * time.Second)}, time.Second)
			m.CanaryAnswered()
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 1, Since: since}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestQuestionThatOthersRefuteProvesNothing asks a server twice whose work stands still, once before and once after
// requests of others ended well or did not.
func TestQuestionThatOthersRefuteProvesNothing(t *testing.T) {
	for _, c := range []struct {
		says          string
		first, second canary.Result
		served        float64
		want          string
	}{
		{"others were served after the first error", canary.HTTPError, canary.HTTPError, 3, "suspected"},
		{"nobody was", canary.HTTPError, canary.HTTPError, 0, "stalled (ready 503)"},
		{"there is no answer now", canary.HTTPError, canary.NoFirstToken, 3, "stalled (live 503)"},
		{"the first was answered", canary.OK, canary.HTTPError, 3, "stalled (live 503)"},
	} {
		t.Run(c.says, func(t *testing.T) {
			var m assess.Memory
			now := time.Unix(1_000_000, 0)
			ask := func(result canary.Result) {
				m.Asked(now, derive.Entry{})
				m.Answer(canary.Report{Result: result, Asked: now, At: now.Add(time.Second)}, false)
			}
			ask(c.first)
			m.Page(now.Add(5*time.Second), &derive.Conditions{Counts: derive.Counts{Served: 7}})
			m.Page(now.Add(20*time.Second), &derive.Conditions{Counts: derive.Counts{Served: 7 + c.served}})
			now = now.Add(2 * time.Minute)
			ask(c.second)
			e := changed(serving(), func(e *assess.Evidence) {
				e.Still = derive.Stillness{InFlight: 1, Since: now.Add(-time.Minute)}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestWordAboutOtherModelsAccusesNobody has a Triton that says for stall_after that models are not ready, while work
// for one of its models stands still.
func TestWordAboutOtherModelsAccusesNobody(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	row := func(name, state string) engine.ModelState {
		return engine.ModelState{Name: name, Version: "1", State: state}
	}
	for _, c := range []struct {
		says   string
		models []engine.ModelState
		want   string
	}{
		{
			"another one loads",
			[]engine.ModelState{row("embed", engine.ModelReady), row("llama", engine.ModelLoading)},
			"not_ready (ready 503)",
		},
		{
			"it is that one",
			[]engine.ModelState{row("embed", engine.ModelUnavailable), row("llama", engine.ModelReady)},
			"stalled (live 503)",
		},
		{"which is not known", nil, "not_ready (ready 503)"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e := changed(serving(), func(e *assess.Evidence) {
				e.Now = now
				e.Still = derive.Stillness{InFlight: 1, Entry: derive.Entry{Model: "embed"}, Since: now.Add(-5 * time.Minute)}
				e.API.API, e.API.WasReady, e.API.FromServer = engine.APINotReady, true, true
				e.API.OfModels, e.API.Models = true, c.models
				e.API.NotReadySince = now.Add(-4 * time.Minute)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
			e.API.OfModels = false // A server of one model speaks of itself.
			requireVerdict(t, "stalled (live 503)", assess.Judge(&e))
		})
	}
}

// TestListThatRequestsContradictIsNotBelieved has a server that lists nothing that clients call as loaded, while requests
// to what it lists as loaded end, or do not.
func TestListThatRequestsContradictIsNotBelieved(t *testing.T) {
	for _, c := range []struct {
		says  string
		ended []float64 // As of successive pages, of which the second comes with the list.
		want  []assess.State
	}{
		{"none ends", []float64{5, 5, 5, 5}, []assess.State{assess.Ready, assess.Unserved, assess.Unserved, assess.Unserved}},
		{
			"the last one ended before",
			[]float64{5, 6, 6, 6},
			[]assess.State{assess.Ready, assess.Ready, assess.Unserved, assess.Unserved},
		},
		{
			"they end, and later nobody asks",
			[]float64{5, 6, 7, 7},
			[]assess.State{assess.Ready, assess.Ready, assess.Ready, assess.Ready},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			var m assess.Memory
			now := time.Unix(1_000_000, 0)
			for n, ended := range c.ended {
				now = now.Add(time.Second)
				m.Page(now, &derive.Conditions{Counts: derive.Counts{Answered: ended}})
				e := changed(serving(), func(e *assess.Evidence) {
					e.Now = now
					if n > 0 {
						e.Unserved = "the server is ready but what clients call is not loaded: top"
					}
					m.Recall(e)
				})
				v := assess.Judge(&e)
				m.Heard(now, v.Witnesses.Word)
				require.Equal(t, c.want[n], v.State, "page %d: %s", n, v.Reason)
			}
		})
	}
}

// TestSilenceTakesNothingBack has an API that says something and then nothing more, while the page comes.
func TestSilenceTakesNothingBack(t *testing.T) {
	ready := engine.Health{API: engine.APIReady, WasReady: true}
	notReady := engine.Health{API: engine.APINotReady, WasReady: true, Status: 503, Detail: "the API answers 503"}
	paused := engine.Health{API: engine.APIReady, WasReady: true, Paused: true, Detail: "it is paused"}
	draining := engine.Health{API: engine.APIRefused, WasReady: true, Found: true, Draining: true, Detail: "it drains"}
	hangs := engine.Health{API: engine.APIFailed, WasReady: true, Detail: "the API does not answer"}
	hangsUp := engine.Health{API: engine.APIRefused, HungUp: true, WasReady: true, Detail: "it hangs up"}
	refusesUs := engine.Health{API: engine.APIFailed, Status: 401, WasReady: true, Detail: "the API is restricted"}
	for _, c := range []struct {
		name  string
		said  []engine.Health
		still bool
		want  string
	}{
		{"not ready, then it hangs", []engine.Health{ready, notReady, hangs}, false, "not_ready (ready 503)"},
		{"not ready, then it hangs up", []engine.Health{ready, notReady, hangsUp}, false, "not_ready (ready 503)"},
		{"not ready, then it wants a token", []engine.Health{ready, notReady, refusesUs}, false, "not_ready (ready 503)"},
		{
			"not ready for long, then it hangs, nothing moves",
			[]engine.Health{ready, notReady, notReady, hangs},
			true, "stalled (live 503)",
		},
		{
			"not ready once, then it hangs, nothing moves",
			[]engine.Health{ready, notReady, hangs},
			true, "not_ready (ready 503)",
		},
		{"paused, then it hangs", []engine.Health{ready, paused, hangs}, false, "unserved (ready 503)"},
		{"draining, then it hangs", []engine.Health{ready, draining, hangs}, false, "draining (ready 503)"},
		{"ready, then it hangs", []engine.Health{ready, hangs}, false, "ready"},
		{"not ready, then ready, then it hangs", []engine.Health{ready, notReady, ready, hangs}, false, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			for i := range c.said {
				m.Health(two.Add(time.Duration(i-len(c.said)+1)*40*time.Second), &c.said[i])
			}
			e := changed(serving(), func(e *assess.Evidence) {
				e.API = assess.API{Health: c.said[len(c.said)-1], SamePort: true}
				if c.still {
					e.Still = hung()
				}
				m.Recall(e)
			})
			requireVerdict(t, c.want, assess.Judge(&e))
		})
	}
}

// TestRouterThatServesIsBelieved has a router that says it has no worker. Each page is the requests that ended
// well so far and those in flight.
func TestRouterThatServesIsBelieved(t *testing.T) {
	type page struct{ served, inFlight float64 }
	nobody := engine.Health{API: engine.APINotReady, LiveKnown: true, Live: true, Detail: "the frontend has no worker"}
	serves := engine.Health{API: engine.APIReady, LiveKnown: true, Live: true}
	for _, c := range []struct {
		name  string
		pages []page
		// apart is the time between two pages.
		apart time.Duration
		// says is what it says at the end, a time after the last page.
		says  engine.Health
		after time.Duration
		want  string
	}{
		{"nobody asks", []page{{10, 0}, {10, 0}, {10, 0}}, time.Second, nobody, 0, "not_ready (ready 503)"},
		{"those in flight end well", []page{{10, 4}, {12, 2}, {14, 0}}, time.Second, nobody, 0, "not_ready (ready 503)"},
		{"others come and wait", []page{{10, 4}, {12, 9}, {14, 12}}, time.Second, nobody, 0, "not_ready (ready 503)"},
		{"others come and end well", []page{{10, 4}, {12, 4}, {15, 4}}, time.Second, nobody, 0, "ready"},
		{"others ended well a while ago", []page{{10, 0}, {12, 0}, {12, 0}}, time.Second, nobody, 30 * time.Second, "ready"},
		{
			"none has ended well for a window, and no page came",
			[]page{{10, 0}, {12, 0}, {12, 0}},
			time.Second, nobody, 2 * time.Minute, "not_ready (ready 503)",
		},
		{
			"none has ended well for a window of pages",
			[]page{{10, 0}, {12, 0}, {12, 0}, {12, 0}},
			45 * time.Second, nobody, 0, "not_ready (ready 503)",
		},
		{
			"one ended well on each page since",
			[]page{{10, 4}, {15, 4}, {16, 4}, {17, 4}},
			45 * time.Second, nobody, 0, "ready",
		},
		{"one page alone", []page{{99, 0}}, time.Second, nobody, 0, "not_ready (ready 503)"},
		{"it has workers again", []page{{10, 0}, {10, 0}}, time.Second, serves, 0, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			judge := func(h engine.Health, at time.Time) assess.Verdict {
				m.Health(at, &h)
				e := changed(serving(), func(e *assess.Evidence) {
					e.Now, e.Routes = at, true
					e.API = assess.API{Health: h, SamePort: true}
					m.Recall(e)
				})
				v := assess.Judge(&e)
				m.Heard(at, v.Witnesses.Word)
				return v
			}
			require.Equal(t, assess.NotReady, judge(nobody, two).State)
			now := two
			for _, p := range c.pages {
				now = now.Add(c.apart)
				m.Page(now, &derive.Conditions{
					Counts:        derive.Counts{Served: p.served},
					InFlight:      p.inFlight,
					InFlightKnown: true,
				})
				judge(nobody, now)
			}
			now = now.Add(c.after)
			requireVerdict(t, c.want, judge(c.says, now))
			judge(serves, now)
			require.Equal(t, assess.NotReady, judge(nobody, now).State, "it is believed when it says so again")
		})
	}
}

// TestWorkerThatSaysItIsNotReadyIsRefuted has a worker to which requests are routed whatever it says: some of its
// releases say for ever that they are not ready, others while a check of theirs waits behind requests.
func TestWorkerThatSaysItIsNotReadyIsRefuted(t *testing.T) {
	said := time.Unix(1_000_000, 0)
	notReady := engine.Health{API: engine.APINotReady, FromServer: true, Unheeded: true}
	starting, other := notReady, notReady
	starting.NoEndpoint, starting.Starting = true, true
	other.Unheeded = false
	for _, c := range []struct {
		name     string
		says     engine.Health
		inFlight float64
		ended    []float64
		want     string
	}{
		{"more end than were in flight", notReady, 2, []float64{0, 3}, "ready"},
		{"those end that were in flight", notReady, 2, []float64{0, 2}, "not_ready (ready 503)"},
		{"none ends", notReady, 0, []float64{0, 0}, "not_ready (ready 503)"},
		{"it has no endpoint, and serves", starting, 2, []float64{0, 3}, "ready"},
		{"it has no endpoint, and none ends", starting, 0, []float64{0, 0}, "starting (ready 503)"},
		{"a server whose word is heeded", other, 2, []float64{0, 3}, "not_ready (ready 503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			judge := func(at time.Time) assess.Verdict {
				m.Health(at, &c.says)
				e := changed(serving(), func(e *assess.Evidence) {
					e.Now, e.API = at, assess.API{Health: c.says, SamePort: true}
					m.Recall(e)
				})
				v := assess.Judge(&e)
				m.Heard(at, v.Witnesses.Word)
				return v
			}
			v := judge(said)
			for i, ended := range c.ended {
				at := said.Add(time.Duration(5*(i+1)) * time.Second)
				m.Page(at, &derive.Conditions{
					Counts:        derive.Counts{Served: ended},
					InFlight:      c.inFlight,
					InFlightKnown: true,
				})
				v = judge(at)
			}
			requireVerdict(t, c.want, v)
		})
	}
}

// TestClosedAPIIsRefuted has an API that is closed, as if the server shut down, while requests end by another way, or
// those do that were in flight.
func TestClosedAPIIsRefuted(t *testing.T) {
	closed := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name     string
		inFlight float64
		known    bool
		ended    float64
		lasted   time.Duration
		want     bool
	}{
		{"those end that were in flight", 4, true, 4, time.Millisecond, false},
		{"more end", 4, true, 5, time.Minute, true},
		{"it is not known how many were in flight", 0, false, 5, time.Minute, false},
		{"they took less than the time since", 0, false, 1, 3 * time.Second, true},
		{"it is not known how long they took", 0, false, 5, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m assess.Memory
			page := func(after time.Duration, served float64, lasted time.Duration) {
				m.Page(closed.Add(after), &derive.Conditions{
					Counts:        derive.Counts{Served: served},
					InFlight:      c.inFlight,
					InFlightKnown: c.known,
					Lasted:        lasted,
				})
			}
			page(-time.Second, 100, time.Millisecond)
			m.Heard(closed, assess.SaysDraining)
			page(5*time.Second, 100, 0)
			page(10*time.Second, 100+c.ended, c.lasted)
			e := assess.Evidence{Now: closed.Add(10 * time.Second), Window: time.Minute}
			m.Recall(&e)
			require.Equal(t, c.want, e.ServesNevertheless)
		})
	}
}

// TestRejectedQuestionIsSaid has work that stands still and a question that the model does not take.
func TestRejectedQuestionIsSaid(t *testing.T) {
	var m assess.Memory
	since := time.Unix(1_000_000, 0)
	asked := since.Add(31 * time.Second)
	m.Asked(asked, derive.Entry{})
	m.Answer(canary.Report{Reason: "the server answers 404: no such model"}, false)
	e := changed(serving(), func(e *assess.Evidence) {
		e.Still = derive.Stillness{InFlight: 3, Since: since}
		m.Recall(e)
	})
	v := assess.Judge(&e)
	requireVerdict(t, "suspected", v)
	require.Contains(t, v.Reason, "the exporter's own request was rejected")
	require.Contains(t, v.Reason, "404: no such model")
}
