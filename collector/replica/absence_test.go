package replica

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TestWhoIsNotThere has a server that hangs and did not answer a question. Then its page fails twice, and comes again
// as it was: only where that showed that the process ended, its successor must be asked before it is convicted.
func TestWhoIsNotThere(t *testing.T) {
	connect := func(err error, class string) error {
		return &scrape.Error{Reason: scrape.ReasonConnect, Class: class, Err: err}
	}
	unknown := &net.DNSError{Err: "no such host", Name: "vllm-0.vllm", IsNotFound: true}
	for _, c := range []struct {
		name        string
		err         error
		away, again string
	}{
		{"its port refuses connections", failed(scrape.ReasonConnect), "down", "ready"},
		{"no route leads to its host", connect(syscall.EHOSTUNREACH, ""), "down", "stalled"},
		{"its address is denied", connect(errors.New("in dial.deny"), scrape.ClassDenied), "blind", "stalled"},
		{"its server of tokens is down", connect(syscall.ECONNREFUSED, scrape.ClassLogin), "blind", "stalled"},
		{
			"its server of tokens hangs",
			&scrape.Error{Reason: scrape.ReasonTimeout, Class: scrape.ClassLogin, Err: context.DeadlineExceeded},
			"blind", "stalled",
		},
		{"a gateway does not reach it", refusedWith("502"), "down", "stalled"},
		{"its name does not resolve", &scrape.Error{Reason: scrape.ReasonDNS, Err: unknown}, "down", "stalled"},
		{"a gateway answers that it is overloaded", refusedWith("503"), "blind", "stalled"},
		{"it is late", failed(scrape.ReasonTimeout), "down", "stalled"},
		{"its connection is reset", failed(scrape.ReasonReset), "down", "stalled"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := stalledServer(t)
			for range 2 {
				s.dueWith(func(now *answering) { now.failed, now.apiTakes = c.err, never })
				s.after(5 * time.Second)
			}
			require.Equal(t, c.away, s.slot.Status().State, s.slot.Status().StateReason)
			s.dueWith(func(now *answering) { now.failed, now.apiTakes = nil, 0 })
			require.Equal(t, c.again, s.slot.Status().State, s.slot.Status().StateReason)
		}))
	}
}

// stalledServer returns a server that hangs and did not answer a question.
func stalledServer(t *testing.T) *stepped {
	t.Helper()
	s := hungServer(t)
	for range 9 {
		s.due()
		s.after(5 * time.Second)
	}
	require.Equal(t, "stalled", s.slot.Status().State)
	return s
}

// TestErrorsOfAllAreAnAnswer starts with targets of which nobody knows what they are, and which answer nothing but
// errors of a server: a probe need not guess whether they serve.
func TestErrorsOfAllAreAnAnswer(t *testing.T) {
	unready := assess.Probes{Judged: true, Live: true}
	unjudged := assess.Probes{Live: true}
	for _, c := range []struct {
		name   string
		engine string
		now    answering
		want   assess.Probes
	}{
		{
			"a gateway answers 503 for it", target.Auto,
			answering{failed: refusedWith("503"), status: http.StatusServiceUnavailable},
			unready,
		},
		{
			"its page fails, and it answers", target.Auto,
			answering{failed: refusedWith("500"), status: http.StatusNotFound},
			unjudged,
		},
		{
			"a gateway answers 503 for one that the operator knows", string(engine.Unknown),
			answering{failed: refusedWith("503"), status: http.StatusServiceUnavailable},
			unready,
		},
		{
			"the page of one that the operator knows fails, and it answers", string(engine.Unknown),
			answering{failed: refusedWith("503"), status: http.StatusNotFound},
			unjudged,
		},
		{
			"its page is withheld", target.Auto,
			answering{failed: refusedWith("401"), status: http.StatusUnauthorized},
			unjudged,
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, c.now, func(tgt *target.Target, _ *Pool) { tgt.Engine = c.engine })
			for range 3 {
				s.due()
				s.after(5 * time.Second)
			}
			require.Equal(t, c.want, s.probes(), s.slot.Status().StateReason)
		}))
	}
}

// TestOutageBehindAGateway has servers that were there, whose address then answers with a server's error to everything,
// or to requests for the page alone: of one without an API nothing else speaks.
func TestOutageBehindAGateway(t *testing.T) {
	fails := func(status int) func(*answering) {
		return func(now *answering) { *now = answering{failed: refusedWith("503"), status: status} }
	}
	page := answering{page: "own_requests_total 5\n"}
	triton := answering{page: tritonAnswers().page, refused: true}
	for _, c := range []struct {
		name, engine string
		was          answering
		then         func(*answering)
		state        string
		ready        bool
	}{
		{"one that the operator knows", string(engine.Unknown), page, fails(503), "down", false},
		{"the page alone of one that the operator knows", string(engine.Unknown), page, fails(404), "blind", true},
		{"the page of one that answers to its root", string(engine.Unknown), page, fails(200), "blind", true},
		{"a Triton whose API was never found", string(engine.Triton), triton, fails(503), "down", false},
		{"the page alone of such a Triton", string(engine.Triton), triton, fails(404), "blind", true},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, c.was, func(tgt *target.Target, _ *Pool) { tgt.Engine = c.engine })
			s.due()
			s.after(5 * time.Second)
			s.change(c.then)
			for range 4 {
				s.due()
				s.after(5 * time.Second)
			}
			status := s.slot.Status()
			require.Equal(t, c.state, status.State, status.StateReason)
			require.Equal(t, assess.Probes{Judged: true, Ready: c.ready, Live: true}, s.probes(), status.StateReason)
			s.change(func(now *answering) { *now = c.was })
			s.due()
			require.Equal(t, assess.Probes{Judged: true, Ready: true, Live: true}, s.probes(), "it is back")
		}))
	}
}

// TestSilenceAcquitsNobody has a server that hangs and did not answer a question, whose page does not come any more.
func TestSilenceAcquitsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalledServer(t)
		for n, c := range []struct {
			apiTakes time.Duration
			state    string
		}{{0, "blind"}, {never, "down"}, {never, "down"}, {0, "blind"}, {0, "blind"}} {
			s.dueWith(func(now *answering) { now.failed, now.apiTakes = failed(scrape.ReasonTimeout), c.apiTakes })
			status := s.after(5 * time.Second)
			require.Equal(t, c.state, status.State, "scrape %d", n)
			require.Equal(t, assess.Probes{Judged: true, Accused: true}, s.probes(), "scrape %d: %s", n, status.StateReason)
		}
	})
}
