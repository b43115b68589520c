package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/probe"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const (
	// canarySoon bounds how long a new replica waits for its first probe.
	canarySoon = 10 * time.Second
	// canaryPatience is the time between two looks at a replica that may not be
	// probed now.
	canaryPatience = time.Second
)

// canary are the probes of one replica: what the scraping goroutine says may be
// asked, and what the probing one has seen.
type canary struct {
	// on is true in a loop that probes; it is set before both goroutines run.
	on    bool
	order atomic.Pointer[canaryOrder]
	shown atomic.Pointer[canaryShown]
}

// canaryOrder is what may be asked of a replica now. It is immutable.
type canaryOrder struct {
	question probe.Question
	modelID  string
	// identity says what server with what model answers, group the same without
	// configs, for the comparison inside the pool.
	identity, group string
	// round is the last round of questions of identity that it rests on.
	round uint64
	// hold says why nothing is asked now; empty when probes are sent.
	hold string
}

// canaryShown is what the last probe has shown. It is immutable.
type canaryShown struct {
	*probe.Summary

	order *canaryOrder
}

// validateProbe says what is wrong with key probe.
func (c *PoolConfig) validateProbe() error {
	if err := c.Probe.Validate(); err != nil {
		return prefixed("probe.", err)
	}
	switch {
	case !c.Probe.Enabled:
	case c.Silent:
		return errors.New("probe.enabled: silent replicas have no API to ask; remove one of the two")
	case c.APIProtocol == ProtocolGRPC:
		return fmt.Errorf("probe.enabled: streams are asked for over HTTP, and api_protocol is %s; remove one of the two", ProtocolGRPC)
	}
	return nil
}

// runCanary probes the replica until ctx ends, one probe at a time. Probes of a
// replica are at fixed moments, a hash of it apart from those of others.
func (r *replica) runCanary(ctx context.Context) {
	interval := time.Duration(r.pool.cfg.Probe.Interval)
	key := r.target.Key() + "/canary"
	timer := time.NewTimer(offset(key, min(interval, canarySoon)))
	defer timer.Stop()
	var book probe.Book
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
		_ = r.guard("canary", func() { r.sendProbe(ctx, order, &book) })
		phase := offset(key, interval)
		wait := interval - (time.Since(r.pool.origin)-phase+interval)%interval
		if wait < interval/2 {
			wait += interval
		}
		timer.Reset(wait)
	}
}

// sendProbe sends one probe and publishes what it showed.
func (r *replica) sendProbe(ctx context.Context, order *canaryOrder, book *probe.Book) {
	report := r.pool.cfg.Probe.Ask(ctx, r.pool.client, order.question)
	if report.Result == "" {
		return
	}
	if book.Differs(report) {
		order = r.confirm(ctx, order)
	}
	before := r.canary.shown.Load()
	r.canary.shown.Store(&canaryShown{book.Enter(report, order.identity), order})
	good := before == nil || before.Last.Result == probe.OK
	switch {
	case report.Result != probe.OK && (good || before.Last.Result != report.Result):
		r.log.Warn("Canary fails", "model", order.question.Model, "result", string(report.Result), "reason", report.Reason)
	case report.Result == probe.OK && !good:
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
	name := r.pool.cfg.Probe.Model
	if name == "" {
		if name, why = r.known.topology.EntryModel(); why != "" {
			return why
		}
	}
	order.question = probe.Question{Base: base, Model: name, Generate: stream.Generate, Usage: stream.Usage, Seed: stream.Seed}
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

// canaryDoubt is what the last probe says against a replica that serves; empty
// when nothing does.
func (r *replica) canaryDoubt() string {
	shown, order := r.canary.shown.Load(), r.canary.order.Load()
	if shown == nil || order == nil || order.hold != "" || shown.Last.Result == probe.OK {
		return ""
	}
	return fmt.Sprintf("; its canary fails: %s: %s", shown.Last.Result, shown.Last.Reason)
}
