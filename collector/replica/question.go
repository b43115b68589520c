package replica

import (
	"context"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// instant returns when a page was made at the latest, as the deriver counts time.
func (r *Replica) instant(p *scrape.Fetched) time.Duration {
	_, made := p.Made()
	return made.Sub(r.pool.Origin) + r.slot.Suspended()
}

// at returns the time of an instant that was passed to the deriver.
func (r *Replica) at(d time.Duration) time.Time {
	return r.pool.Origin.Add(d - r.slot.Suspended())
}

// noteScrape remembers what a scrape showed for the next verdicts.
func (r *Replica) noteScrape(p *scrape.Fetched, failed error) {
	if failed != nil {
		r.memory.NoPage(p.Start, r.absence(failed).ended)
		return
	}
	c := r.deriver.Conditions(r.at)
	r.observeLoad(p, &c)
	r.memory.Page(p.Start, &c)
}

// askIfAccused sends a question to a server that the pages speak against, once the server was asked for its
// own word since, and gave it or did not: a paused one must not be asked. Only the newest answer since then counts.
func (r *Replica) askIfAccused(ctx context.Context) {
	now := time.Now()
	if !r.pool.Canary.Asks() || r.jobs.canary.running || r.status.Health != target.HealthUp ||
		r.deriver.Processes() > 0 {
		return
	}
	since, ok := r.memory.MayAsk(now)
	switch {
	case !ok:
		return
	case r.healthAsked.Before(since):
		r.queryHealth(ctx)
		return
	case r.answers.Health != nil && r.answers.Health.Paused:
		return
	}
	about, fails := r.memory.About()
	order, entry := r.questionOrder(about)
	ask, remembered := r.question(order, fails)
	if ask == nil {
		return
	}
	model := order.Question.Model
	r.memory.Asked(now, entry)
	r.deriver.BeginOwn(r.pool.Canary.MaxTokens)
	runJob(r.startJob(ctx, &r.jobs.canary), "canary", ask, func(report canary.Report, failed error) {
		if failed != nil {
			report = canary.Report{}
		}
		r.deriver.EndOwn(model, report.Answered())
		r.memory.Answer(report, remembered)
		r.reassess()
	})
}

// question returns what asks the server a question, nil if it cannot be asked now: the server's own
// generating health check if it has one and not the requests of clients fail, else a request for one token. It is
// remembered if the server remembers that it failed.
func (r *Replica) question(
	order *canary.Order, fails bool,
) (ask func(context.Context) canary.Report, remembered bool) {
	cfg := &r.pool.Canary
	if assess.Holds(assess.State(r.status.State)) || r.reader.last.MemoryUnsure() {
		return nil, false
	}
	q := &order.Question
	unknown := r.status.Canary == nil || r.status.Canary.Model != q.Model || q.Version != ""
	request := func(ctx context.Context) canary.Report {
		report := cfg.Confirms(ctx, r.pool.Scraper, *q)
		if unknown && report.Result.Doubtful() {
			return canary.Report{Reason: report.Reason} // That the canary's model takes them says nothing about this one.
		}
		return report
	}
	test := r.server.Engine.SelfTest
	if !fails && test.Path != "" && r.answers.MayTest(r.pageIsAPI()) {
		server := r.api()
		return func(ctx context.Context) canary.Report {
			report := canary.SelfTest(ctx, server, time.Duration(cfg.Timeout))
			if report.Result == canary.Unsupported && order.Hold == "" {
				return request(ctx)
			}
			return report
		}, test.Remembered
	}
	if order.Hold != "" {
		return nil, false
	}
	return request, false
}

// listsReady reports whether the server lists the version of an entry as ready.
func (r *Replica) listsReady(entry derive.Entry) bool {
	return r.answers.Health != nil && slices.ContainsFunc(r.answers.Health.Models, func(m engine.ModelState) bool {
		return m.Name == entry.Model && m.Version == entry.Version && m.State == engine.ModelReady
	})
}

// pageIsAPI reports whether the page shows the kind of server and has its port with the API.
func (r *Replica) pageIsAPI() bool {
	return r.server.Engine.SamePort() && r.target.APIURL == "" && r.reader.last != nil && r.reader.last.ReadsAny()
}

// questionOrder returns the order for a question about an entry, which goes to that model: another one
// cannot answer for it. If the configuration names the canary's model, or the server does not list the
// entry, it goes to the canary's, and is about the server as a whole.
func (r *Replica) questionOrder(entry derive.Entry) (order *canary.Order, about derive.Entry) {
	if r.pool.Canary.Model == "" && r.answers.Facts.Model(entry.Model) != nil {
		order = r.canaryOrder(entry.Model)
		if !r.listsReady(entry) { // Triton may count an ensemble under a version that is not loaded.
			entry.Version = ""
		}
		order.Question.Version = entry.Version
		return order, entry
	}
	return r.canaryOrder(r.pool.Canary.Model), derive.Entry{}
}
