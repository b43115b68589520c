package collector

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const (
	// canarySoon bounds how long a new replica waits for its first canary request.
	canarySoon = 10 * time.Second
	// canaryPatience is the time between two looks at a replica that may not be
	// asked now.
	canaryPatience = time.Second
)

// canaryFlight is the canary of one replica: what the scraping goroutine says may be
// asked, and what the asking one has seen.
type canaryFlight struct {
	// on is true in a loop with a canary; it is set before both goroutines run.
	on    bool
	order atomic.Pointer[canaryOrder]
	shown atomic.Pointer[canaryShown]
}

// canaryOrder is what may be asked of a replica now. It is immutable.
type canaryOrder struct {
	question canary.Question
	modelID  string
	// identity says what server with what model answers, group the same without
	// configs, for the comparison inside the pool.
	identity, group string
	// round is the last round of questions of identity that it rests on.
	round uint64
	// hold says why nothing is asked now; empty when requests are sent.
	hold string
}

// canaryShown is what the last request has shown. It is immutable.
type canaryShown struct {
	*canary.Summary

	order *canaryOrder
}

// runCanary asks the replica until ctx ends, one request at a time. Requests to a
// replica are at fixed moments, a hash of it apart from those of others.
func (r *replica) runCanary(ctx context.Context) {
	interval := time.Duration(r.pool.cfg.Canary.Interval)
	key := r.target.Key() + "/canary"
	timer := time.NewTimer(offset(key, min(interval, canarySoon)))
	defer timer.Stop()
	var book canary.Book
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		order := r.canary.order.Load()
		if order == nil || order.hold != "" {
			timer.Reset(min(interval, canaryPatience))
			continue
		}
		_ = r.guard("canary", func() { r.askCanary(ctx, order, &book) })
		phase := offset(key, interval)
		wait := interval - (time.Since(r.pool.origin)-phase+interval)%interval
		if wait < interval/2 {
			wait += interval
		}
		timer.Reset(wait)
	}
}

// askCanary sends one request and publishes what it showed.
func (r *replica) askCanary(ctx context.Context, order *canaryOrder, book *canary.Book) {
	report := r.pool.cfg.Canary.Ask(ctx, r.pool.client, order.question)
	if report.Result == "" {
		return
	}
	if book.Differs(report) {
		order = r.confirm(ctx, order)
	}
	before := r.canary.shown.Load()
	r.canary.shown.Store(&canaryShown{book.Enter(report, order.identity), order})
	good := before == nil || before.Last.Result == canary.OK
	switch {
	case report.Result != canary.OK && (good || before.Last.Result != report.Result):
		r.log.Warn("Canary fails", "model", order.question.Model, "result", string(report.Result), "reason", report.Reason)
	case report.Result == canary.OK && !good:
		r.log.Info("Canary is well again", "model", order.question.Model)
	}
}

// confirm asks anew who the server is: one that answers otherwise may have
// started anew with other versions since it was asked last. The order comes
// back as it is known then.
func (r *replica) confirm(ctx context.Context, order *canaryOrder) *canaryOrder {
	want := r.rounds.begun.Load() + 1
	r.wake()
	ctx, cancel := context.WithTimeout(ctx, 2*(r.target.Timeout+r.target.Interval))
	defer cancel()
	tick := time.NewTicker(min(r.target.Interval, canaryPatience))
	defer tick.Stop()
	for order.round < want {
		select {
		case <-ctx.Done():
			return order
		case <-tick.C:
			order = r.canary.order.Load()
		}
	}
	return order
}

// orderCanary says what may be asked of the replica, as it is known now.
func (r *replica) orderCanary() {
	if !r.canary.on {
		return
	}
	order := &canaryOrder{round: r.rounds.ended.Load()}
	if r.facts.Load() != r.used {
		// What that round answered is for the next scrape.
		order.round = 0
	}
	order.hold = r.compose(order)
	if order.hold == "" {
		order.hold = restingIn(engine.State(r.status.State))
	}
	r.canary.order.Store(order)
	r.status.Canary = r.canaryStatus(order)
}

// restingIn says why a replica in a state is left alone; empty for states in
// which it may be asked.
func restingIn(s engine.State) string {
	switch s {
	case engine.StateStarting, engine.StateNotReady, engine.StateDraining, engine.StateDown:
		return "the replica is " + strings.ReplaceAll(string(s), "_", " ")
	case engine.StateReady, engine.StateFailing, engine.StateStalled, engine.StateBlind:
	}
	return ""
}

// compose fills an order in; what is in its way comes back.
func (r *replica) compose(order *canaryOrder) (hold string) {
	_, _, base, ok := r.api()
	if !ok || r.known == nil {
		return "the server was not recognised yet"
	}
	if !strings.HasPrefix(base, "http") {
		return "the API is asked over gRPC, streams over HTTP only"
	}
	stream, why := r.engine.Stream(r.known.engineVersion, r.seen)
	if why != "" {
		return why
	}
	name := r.pool.cfg.Canary.Model
	if name == "" {
		if name, why = r.known.topology.EntryModel(); why != "" {
			return why
		}
	}
	order.question = canary.Question{Base: base, Model: name, Generate: stream.Generate, Usage: stream.Usage, Seed: stream.Seed}
	order.modelID = r.known.topology.ModelID(name)
	order.group = strings.Join([]string{string(r.kind), r.known.engineVersion, r.known.trtllmVersion, name}, "\x00")
	order.identity = order.group + "\x00" + r.configsOf(order.modelID)
	return ""
}

// configsOf are the hashes of the configs of all models under a public id.
func (r *replica) configsOf(modelID string) string {
	var b strings.Builder
	for i := range r.known.models {
		if m := &r.known.models[i]; r.known.topology.ModelID(m.Name) == modelID {
			b.WriteString(m.ConfigHash)
		}
	}
	return b.String()
}

// canaryStatus is what people are told.
func (r *replica) canaryStatus(order *canaryOrder) *target.Canary {
	s := &target.Canary{Model: order.question.Model, Hold: order.hold}
	if shown := r.canary.shown.Load(); shown != nil {
		s.Result, s.Reason, s.At = string(shown.Last.Result), shown.Last.Reason, shown.Last.At
	}
	return s
}

// canaryDoubt is what the last request says against a replica that serves; empty
// when nothing does.
func (r *replica) canaryDoubt() string {
	shown, order := r.canary.shown.Load(), r.canary.order.Load()
	if shown == nil || order == nil || order.hold != "" || shown.Last.Result == canary.OK {
		return ""
	}
	return fmt.Sprintf("; its canary fails: %s: %s", shown.Last.Result, shown.Last.Reason)
}
