package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// way is one way to know a capability: the signals that it takes, all of which a page must have.
type way []Signal

// words returns the names of the signals.
func (w way) words() []string {
	names := make([]string, len(w))
	for i, s := range w {
		names[i] = s.String()
	}
	return names
}

// joint returns how the series of two signals make up one number.
func (w way) joint() string {
	switch w[0] { //nolint:exhaustive // The others stand side by side.
	case KVTokensUsed, KVBlocksUsed, CachedTokens, PrefixHits:
		return " of "
	case RequestsActive:
		return " minus "
	}
	return " and "
}

// waysTo returns the ways to know a capability, best first. It holds for every kind of server: what a
// kind exposes follows from its series.
func waysTo(name string) []way {
	switch name {
	case CanTokens:
		return []way{{GenerationTokens}}
	case CanLiveTokens:
		return []way{{GenerationTokensLive}, {GenerationTokens}, {EngineIterations, RequestsDecode}}
	case CanQueue:
		return []way{{RequestsWaiting}, {RequestsActive, RequestsRunning}, {WorkerRequestsLimit, WorkerKVBlocksUsed}}
	case CanRunning:
		return []way{{RequestsRunning}}
	case CanTTFT:
		return []way{{ModelFirstResponse}, {FirstToken}}
	case CanTPOT:
		return []way{{OutputToken}, {InterToken}}
	case CanE2E:
		return []way{{RequestDuration}}
	case CanQuantiles:
		return []way{{ModelFirstResponse}, {ModelRequestTimes}, {ModelRequestDuration}, {RequestDuration}}
	case CanStall:
		return []way{
			{EngineIterations}, {GenerationTokens}, {RequestsFinished}, {InterToken}, {FirstToken}, {RequestsStarted},
		}
	case CanKVCache:
		return []way{{KVTokensUsed, KVTokensLimit}, {KVBlocksUsed, KVBlocksLimit}, {KVUtilization}}
	case CanKVReuse:
		return []way{{KVBlocksReused}, {KVHitRatio}, {PrefixHits, PrefixQueries}, {CachedTokens, PromptTokens}}
	case CanGPU:
		return []way{{GPUUtilization}}
	case CanConfig:
		return []way{{CacheConfig}, {ModelConfig}}
	}
	return nil
}

// remarkOn returns what is to be said of a signal of any kind of server that has no remark of its own.
func (p *Page) remarkOn(s Signal) string {
	switch s { //nolint:exhaustive // The others need no remark.
	case GenerationTokens:
		if p.tokensLive() {
			return "as tokens are generated"
		}
		return "when a request ends"
	case KVTokensUsed:
		if p.Has(KVUtilization) {
			return "or " + p.seriesOf("or", KVUtilization) + " if that is another, as with several pools"
		}
	case OutputToken:
		return "the mean of each request"
	case InterToken:
		return "token by token"
	case EngineIterations:
		return "an estimate from its sampled iterations"
	case ModelFirstResponse:
		return "for models that do not stream the time of the whole request, errors included: " +
			"no mean or percentile while failures are counted"
	case ModelRequestDuration:
		return "quantiles over its last minute, which cannot be added up over replicas"
	}
	return ""
}

// gap explains why a page lacks capabilities, and the cure. Without names it applies to all. It is
// early if it is over once a request has ended: what is still missing then has another reason.
type gap struct {
	reason, cure string
	names        []string
	early        bool
}

func lacks(reason, cure string, names ...string) gap {
	return gap{reason: reason, cure: cure, names: names}
}

// awaits explains a gap until the first request has ended.
func awaits(reason string, names ...string) gap {
	return gap{reason: reason, names: names, early: true}
}

// notYet explains the gaps of a page when nothing else is known.
const notYet = "not on the page yet; families appear with the first request"

// capability judges a capability that depends on the kind: by what the kind knows better than the
// table of ways, by the first way on the page, or else by what is missing.
func (k *Kind) capability(name string, known *Knowledge) target.Check {
	p := known.Page
	if k.judge != nil {
		if c, ok := k.judge(name, known); ok {
			return c
		}
	}
	if c, ok := k.otherRelease(name, known); ok {
		return c
	}
	if name == CanConfig {
		return known.config(k.config(known))
	}
	if in := k.within(p); in != nil {
		return in.capability(name, known)
	}
	if p == nil {
		return k.noPage(known)
	}
	if (name == CanTTFT || name == CanTPOT) && p.returnsNoTokens() {
		return no("requests end but no token was ever generated: the model returns none, as embedding and "+
			"ranking models do", "")
	}
	if c, ok := k.shown(name, p); ok {
		return c
	}
	if c, ok := averages(name, p); ok {
		return c
	}
	if s := p.unmeasured(name); s != NoSignal {
		return no(p.seriesOf("and", s)+" counts times, and their sum is 0: the server does not measure them", "")
	}
	if p.shareless(KVHitRatio) && name == CanKVReuse {
		return no(p.seriesOf("and", KVHitRatio)+" is -1: the server has none", "")
	}
	return k.missing(name, known)
}

// returnsNoTokens reports whether requests ended, and no token was ever generated for one.
func (p *Page) returnsNoTokens() bool {
	return p.Has(GenerationTokens) && p.values[GenerationTokens] <= 0 && p.ended()
}

// noPage is the judgment on a server whose page is not there.
func (k *Kind) noPage(known *Knowledge) target.Check {
	reason, cure := k.Path+" answers 404"+k.NoPage.Why, k.NoPage.Cure
	if since := k.NoPage.Since; since != "" && before(since).Hold(known.Version) {
		reason, cure = reason+", and this is "+known.Version, "release "+since+" or later with "+cure
	}
	return no(reason, cure)
}

const hidesConfig = "no series of its settings is read from this kind of server"

// config judges a config that is neither of models nor of the engine as a whole.
func (k *Kind) config(known *Knowledge) target.Check {
	switch p := known.Page; {
	case p.Has(CacheConfig):
		return yes(p.seriesOf("and", CacheConfig) + " on its page, of the KV cache only")
	case p == nil:
		return k.noPage(known)
	}
	return k.missing(CanConfig, known)
}

// shown returns the first way to a capability on the page, with the series that were read.
func (k *Kind) shown(name string, p *Page) (target.Check, bool) {
	if name == CanStall && !p.showsInFlight() && !p.Has(RequestsStarted) {
		return target.Check{}, false
	}
	for _, w := range waysTo(name) {
		if name == CanLiveTokens && w[0] == GenerationTokens && !p.tokensLive() {
			continue
		}
		absent := func(s Signal) bool { return !p.Has(s) || p.timeless(s) && name != CanStall || p.shareless(s) }
		if !slices.ContainsFunc(w, absent) {
			return yes(k.reason(name, w, p)), true
		}
	}
	return target.Check{}, false
}

// averages judges a capability by times of which a page has no buckets: their means are derived all the same.
func averages(name string, p *Page) (c target.Check, ok bool) {
	for _, w := range waysTo(name) {
		s := w[0]
		switch {
		case name == CanStall || !p.averaged(s) || p.timeless(s):
		case name == CanQuantiles:
			return no("the page has no buckets of "+p.seriesOf("and", s)+", so that only means are known", ""), true
		default:
			return yes(p.seriesOf("and", s) + ", as a mean: the page has no buckets of it"), true
		}
	}
	return c, false
}

// unmeasured returns a signal of times that would show a capability if they were not 0, [NoSignal] if there is none.
func (p *Page) unmeasured(name string) Signal {
	for _, w := range waysTo(name) {
		if i := slices.IndexFunc(w, p.timeless); i >= 0 && name != CanStall {
			return w[i]
		}
	}
	return NoSignal
}

// reason names the series on the page that make up a way, with what is to be said of them.
func (k *Kind) reason(name string, w way, p *Page) string {
	if name == CanStall {
		during := cmp.Or(p.seriesOf("or", RequestsActive, RequestsRunning), p.seriesOf("or", RequestsStarted))
		return p.seriesOf("and", w...) + ", which must move while there is work according to " + during
	}
	each := make([]string, len(w))
	for i, s := range w {
		each[i] = p.seriesOf("and", readAs(s)...)
	}
	text := strings.Join(each, w.joint())
	remarks := k.remarks(p)
	if p.hasReading(func(r reading) bool { return r.meaning.Added && r.meaning.Signal == w[0] }) {
		return text + ", as a kinds_file says"
	}
	if remark := cmp.Or(remarks[name], remarks[w[0].String()], p.remarkOn(w[0])); remark != "" {
		text += ", " + remark
	}
	return text
}

// readAs returns the signals whose series add up to a signal: what waits for another server waits too.
func readAs(s Signal) []Signal {
	if s == RequestsWaiting {
		return []Signal{RequestsWaiting, RequestsTransfer}
	}
	return []Signal{s}
}

// remarks returns what the table of ways cannot know, by capability or by signal.
func (k *Kind) remarks(p *Page) map[string]string {
	if k.remark == nil {
		return nil
	}
	return k.remark(p)
}

// seriesOf names the series of the page from which signals are read, of many the first, as a list whose
// last two words a conjunction joins.
func (p *Page) seriesOf(conjunction string, signals ...Signal) string {
	const most = 3
	var names []string
	for _, s := range signals {
		for _, r := range p.readings {
			if r.meaning.Signal != s {
				continue
			}
			if name := r.meaning.selector(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if left := len(names) - most; left > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", left))
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// selector names the series as a query would, with the labels that select it by their values. Lines may break before
// those.
func (m *Indexed) selector() string {
	name := m.Name
	switch m.Part {
	case PartBucket:
		name = strings.TrimSuffix(name, "_bucket")
	case PartSum, PartCount:
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
	case PartValue, PartQuantile:
	}
	var selecting []string
	for _, match := range m.Where {
		if match.Method == Equals && match.Value != "" {
			selecting = append(selecting, fmt.Sprintf("%s=%q", match.Label, match.Value))
		}
	}
	if selecting == nil {
		return name
	}
	return name + " {" + strings.Join(selecting, ",") + "}"
}

const notExposed = "this kind of server does not expose it"

// missing explains why no way to a capability is on the page, and what would bring it there.
func (k *Kind) missing(name string, known *Knowledge) target.Check {
	if k.lacking != nil {
		return k.lacking(name, known)
	}
	if c, ok := k.notInRelease(name, known); ok {
		return c
	}
	var all []gap
	if k.gaps != nil {
		all = k.gaps(known)
	}
	if i := slices.IndexFunc(all, func(g gap) bool { return slices.Contains(g.names, name) }); i >= 0 {
		return all[i].on(known.Page)
	}
	switch {
	case k.knows(name):
	case name == CanConfig:
		return no(hidesConfig, "")
	case name == CanOutcomes:
		return no("this kind of server does not count failed requests", "")
	case name == CanGPU:
		return no(notExposed, cureDCGM)
	default:
		return no(notExposed, "")
	}
	if i := slices.IndexFunc(all, func(g gap) bool { return len(g.names) == 0 }); i >= 0 {
		return all[i].on(known.Page)
	}
	early := awaits(notYet)
	return early.on(known.Page)
}

// on returns the gap of a page as a judgment.
func (g *gap) on(p *Page) target.Check {
	if g.early && p.ended() {
		return no("requests have ended, and it is still not on the page: this release may not expose it", g.cure)
	}
	return no(g.reason, g.cure)
}

// knows reports whether the kind has series of its own for any way to a capability.
func (k *Kind) knows(name string) bool {
	if name == CanOutcomes {
		return slices.Contains(k.Answers, FailuresCounted) // No series alone tells them.
	}
	has := func(s Signal) bool {
		return slices.ContainsFunc(k.series, func(m Meaning) bool { return m.Signal == s })
	}
	return slices.ContainsFunc(waysTo(name), func(w way) bool {
		return !slices.ContainsFunc(w, func(s Signal) bool { return !has(s) })
	})
}
