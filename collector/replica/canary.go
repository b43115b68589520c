package replica

import (
	"context"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// canaryState are the requests that are sent to a replica: what may be sent now,
// and what the last ones have shown.
type canaryState struct {
	// order is nil before the first page, and where no requests are sent.
	order *canaryOrder
	book  canary.Book
	// last is what the last request showed, of is what it was sent for.
	last *canary.Summary
	of   *canaryOrder
	// due is true when it is time for a request that could not be sent yet.
	due bool
	// unconfirmed is a report that waits until the server has said again who it is.
	unconfirmed *unconfirmedReport
}

// canaryOrder is what may be asked of a replica. It is immutable.
type canaryOrder struct {
	question canary.Question
	modelID  string
	// identity says what server with what model answers, group the same without
	// configs, for the comparison inside the pool.
	identity, group string
	// hold says why nothing is asked now; empty when requests are sent.
	hold string
}

// unconfirmedReport is an answer other than those before, of a server that may
// have been replaced by one of other versions since it was asked who it is.
type unconfirmedReport struct {
	report canary.Report
	came   time.Time
	until  time.Time
}

// dueCanary sends a request, or has it sent as soon as one may be.
func (r *Replica) dueCanary(ctx context.Context, _ uint64) {
	if time.Since(r.jobs.canary.began) < time.Duration(r.pool.Canary.Interval)/2 {
		return // The last one was late.
	}
	r.canary.due = true
	r.sendCanary(ctx)
}

// sendCanary sends a request if one is due and may be sent.
func (r *Replica) sendCanary(ctx context.Context) {
	order := r.canary.order
	if !r.canary.due || order == nil || order.hold != "" || r.jobs.canary.running || r.canary.unconfirmed != nil {
		return
	}
	r.canary.due = false
	cfg, scraper := &r.pool.Canary, r.pool.Scraper
	begin(ctx, r, &r.jobs.canary, "canary", func(ctx context.Context) canary.Report {
		return cfg.Ask(ctx, scraper, order.question)
	}, func(report canary.Report, failed error) {
		switch {
		case failed != nil || report.Result == "":
		case r.canary.book.Differs(report):
			now := time.Now()
			r.canary.unconfirmed = &unconfirmedReport{report, now, now.Add(2 * (r.target.Timeout + r.target.Interval))}
			want(ctx, &r.jobs.identity, now, r.askIdentity)
		default:
			r.enter(report)
		}
	})
}

// enterCanary enters a report that waited, once the server has said who it is
// and a page has shown it, and sends a request that is due.
func (r *Replica) enterCanary(ctx context.Context) {
	if d := r.canary.unconfirmed; d != nil {
		said := r.jobs.identity.since(d.came) && r.page.identity.facts == r.answers.facts
		if said || time.Now().After(d.until) {
			r.canary.unconfirmed = nil
			r.orderCanary()
			r.enter(d.report)
		}
	}
	r.sendCanary(ctx)
}

// enter takes a report over.
func (r *Replica) enter(report canary.Report) {
	c := &r.canary
	good := c.last == nil || c.last.Last.Result == canary.OK
	changed := c.last == nil || c.last.Last.Result != report.Result
	c.last, c.of = c.book.Enter(report, c.order.identity), c.order
	switch {
	case report.Result != canary.OK && (good || changed):
		r.log.Warn("Canary fails", "model", c.order.question.Model, "result", string(report.Result), "reason", report.Reason)
	case report.Result == canary.OK && !good:
		r.log.Info("Canary is well again", "model", c.order.question.Model)
	}
}

// orderCanary says what may be asked of the replica, as it is known now.
func (r *Replica) orderCanary() {
	if !r.pool.Canary.Enabled || r.target.Silent {
		return
	}
	order := &canaryOrder{}
	order.hold = r.compose(order)
	if order.hold == "" {
		order.hold = restingIn(assess.State(r.status.State))
	}
	r.canary.order = order
	s := &target.Canary{Model: order.question.Model, Hold: order.hold}
	if last := r.canary.last; last != nil {
		s.Result, s.Reason, s.At = string(last.Last.Result), last.Last.Reason, last.Last.At
		if order.hold == "" && r.canary.of.identity == order.identity && last.Last.Result == canary.OK {
			s.Group, s.Output = order.group, last.Last.Output
		}
	}
	r.status.Canary = s
}

// restingIn says why a replica in a state is left alone; empty for states in
// which it may be asked.
func restingIn(s assess.State) string {
	switch s {
	case assess.Starting, assess.NotReady, assess.Draining, assess.Down:
		return "the replica is " + strings.ReplaceAll(string(s), "_", " ")
	case assess.Ready, assess.Failing, assess.Stalled, assess.Blind:
	}
	return ""
}

// compose fills an order in; what is in its way comes back.
func (r *Replica) compose(order *canaryOrder) (hold string) {
	base, id := r.apiURL(), r.page.identity
	if base == "" || id == nil {
		return "the server was not recognised yet"
	}
	if !strings.HasPrefix(base, "http") {
		return "the API is asked over gRPC, streams over HTTP only"
	}
	stream, why := r.server.Engine.Stream(id.engineVersion, r.page.read)
	if why != "" {
		return why
	}
	name := r.pool.Canary.Model
	if name == "" {
		if name, why = id.topology.EntryModel(); why != "" {
			return why
		}
	}
	order.question = canary.Question{Base: base, Model: name, Generate: stream.Generate, Usage: stream.Usage, Seed: stream.Seed}
	order.modelID = id.topology.ModelID(name)
	order.group = strings.Join([]string{string(id.kind), id.engineVersion, id.trtllmVersion, name}, "\x00")
	order.identity = order.group + "\x00" + r.configsOf(order.modelID)
	return ""
}

// configsOf are the hashes of the configs of all models under a public id.
func (r *Replica) configsOf(modelID string) string {
	var b strings.Builder
	if facts := r.page.identity.facts; facts != nil {
		for i := range facts.Models {
			if m := &facts.Models[i]; r.page.identity.topology.ModelID(m.Name) == modelID {
				b.WriteString(m.ConfigHash)
			}
		}
	}
	return b.String()
}

// fails is what the last request says against a replica that serves; empty when
// nothing does.
func (c *canaryState) fails() string {
	if c.last == nil || c.order == nil || c.order.hold != "" || c.last.Last.Result == canary.OK {
		return ""
	}
	return "its canary fails: " + string(c.last.Last.Result) + ": " + c.last.Last.Reason
}
