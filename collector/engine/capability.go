package engine

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The capabilities.
const (
	CanTokens     = "tokens"
	CanLiveTokens = "live_tokens"
	CanQueue      = "queue"
	CanRunning    = "running"
	CanTTFT       = "ttft"
	CanTPOT       = "tpot"
	CanE2E        = "e2e"
	CanQuantiles  = "quantiles"
	// CanOutcomes is what became of requests, CanStall that they move nothing.
	CanOutcomes = "outcomes"
	CanStall    = "stall"
	// CanCancel is whether a request ends whose client leaves.
	CanCancel  = "cancel"
	CanKVCache = "kv_cache"
	CanKVReuse = "kv_reuse"
	CanGPU     = "gpu"
	CanHealth  = "health"
	CanConfig  = "config"
)

// CapabilityNames lists the capabilities in the order in which they are shown.
func CapabilityNames() []string {
	return []string{
		CanTokens, CanLiveTokens, CanQueue, CanRunning, CanTTFT, CanTPOT, CanE2E, CanQuantiles, CanOutcomes, CanStall, CanCancel,
		CanKVCache, CanKVReuse, CanGPU, CanHealth, CanConfig,
	}
}

// Known is what is known of a replica when its capabilities are judged.
type Known struct {
	// Page is nil when the last scrape failed; then MissingPage may say that
	// the server has none: it answered 404.
	Page        *Page
	MissingPage bool
	Facts       *Facts
	Health      Health
	// Canary is true where requests are sent to the replica, Confirms where one is sent
	// when the replica seems to hang, Iterations where the statistics of its iterations
	// are read.
	Canary, Confirms, Iterations bool
}

// Ways out that capabilities of several kinds have.
const (
	cureDCGM      = "run the DCGM exporter next to it"
	cureElsewhere = "set api_port or api_path if the API is elsewhere"
	cureHeader    = "authorization or http_headers with what the API wants"
	// cureConfirm has one request tell a server that hangs from a stale gauge.
	cureConfirm = "canary: { confirm: true } in the pool, one request of one token when the replica is suspected"
)

// yes and no are checks that still need a name.
func yes(reason string) target.Check      { return target.Passed("", reason) }
func no(reason, cure string) target.Check { return target.Failed("", reason, cure) }

// Capabilities judges what can be known of a replica, in the order of
// [CapabilityNames]: nil while nothing is known of it, as when it is down.
func Capabilities(e Engine, k *Known) []target.Check {
	if e.Kind() == Unknown || k.Page == nil && !k.MissingPage {
		return nil
	}
	all := make([]target.Check, 0, len(CapabilityNames()))
	for _, name := range CapabilityNames() {
		all = append(all, k.capability(e, name))
	}
	return all
}

// capability judges one of them.
func (k *Known) capability(e Engine, name string) target.Check {
	var c target.Check
	_, mute := e.Stream(k.Facts.version(), k.Page)
	switch name {
	case CanCancel:
		c = k.cancel(e, mute)
	case CanHealth:
		c = k.health(e.data().healthSays)
	case CanStall:
		c = k.stall(e.judge(name, k), mute)
	default:
		c = e.judge(name, k)
	}
	if name == CanTTFT && !c.OK && k.Canary && mute == "" {
		c = yes("the canary, of its own requests only: llm_server_canary_time_to_first_token_seconds; of the server: " + c.Reason)
	}
	c.Name = name
	return c
}

// cancel judges whether the page would show that a request ends whose client
// leaves; mute is why the server cannot be asked for a streamed answer.
func (k *Known) cancel(e Engine, mute string) target.Check {
	switch {
	case k.Page == nil:
		return e.judge(CanRunning, k)
	case !k.Page.flying():
		return no("nothing on its page shows requests in flight", "")
	case e.Quirks(k.Page).GaugesWhenRequestsEnd:
		return no("its gauges are read only when a request ends", "")
	}
	if mute != "" {
		return no(mute, "")
	}
	return yes("the page shows requests while they run: canary.cancel_within of the pool checks that one whose client leaves is gone")
}

// stall judges whether the page shows that the server hangs: shown says what shows that
// nothing moves, mute why the server cannot be asked. Without a count of requests that
// come, the gauge of those in flight is the only sign that anything should move, and a
// healthy server may leave it stale.
func (k *Known) stall(shown target.Check, mute string) target.Check {
	const one = ", which is one sign: the gauge of requests in flight may be stale. llm_server_suspected shows it"
	switch {
	case !shown.OK || k.Page.Has(RequestsStarted) || k.Page.Has(ModelSuccess):
		return shown
	case mute != "":
		return no(shown.Reason+one, "")
	case k.Confirms:
		return yes(shown.Reason + "; a request of the canary confirms it")
	}
	return no(shown.Reason+one, cureConfirm)
}

// health judges whether the server's API speaks of its health; says is what that is
// worth, for people.
func (k *Known) health(says string) target.Check {
	switch k.Health.API {
	case APIReady, APINotReady:
		return yes(cmp.Or(says, "the API says whether it is ready"))
	case APIRefused:
		return no("nothing listens on the API's address", cureElsewhere+"; a server with its HTTP API off says nothing")
	case APIFailed:
		if k.Health.Status == http.StatusUnauthorized || k.Health.Status == http.StatusForbidden {
			return no(k.Health.Detail, cureHeader)
		}
		return no(k.Health.Detail, cureElsewhere)
	case APIUnknown:
	}
	return no(cmp.Or(k.Health.Detail, "the API was not asked yet, or its address is not known"), cureElsewhere)
}

// config judges whether the server says how it is configured; otherwise is the
// answer of a kind whose server does not.
func (k *Known) config(otherwise target.Check) target.Check {
	if slices.ContainsFunc(k.Facts.models(), func(m ModelFacts) bool { return m.Configured }) {
		return yes("the configs of its models")
	}
	if k.Page.Has(ModelConfig) {
		return yes("the config info on its page")
	}
	return otherwise
}

// notYet is why a page of which nothing else is known shows little.
const notYet = "not on the page yet; families come with the first request"

// source is what a page needs for a capability, all of the signals, and the reason
// for people.
type source struct {
	name, says string
	signals    [2]Signal
}

// from is a source of a capability, by two signals at most.
func from(name, says string, signals ...Signal) source {
	s := source{name: name, says: says}
	copy(s.signals[:], signals)
	return s
}

// lack is why a page does not show capabilities, and what brings them; without names
// it is of all others.
type lack struct {
	why, cure string
	names     []string
}

// lacks is a lack of some capabilities.
func lacks(why, cure string, names ...string) lack { return lack{why, cure, names} }

// firstOf finds the first source of a capability that the page has.
func (p *Page) firstOf(name string, sources []source) (target.Check, bool) {
	for _, s := range sources {
		if s.name == name && !slices.ContainsFunc(s.signals[:], func(of Signal) bool { return of != "" && !p.Has(of) }) {
			return yes(s.says), true
		}
	}
	return target.Check{}, false
}

// judge is the first source of a capability that the page has, else the first lack of
// it.
func (p *Page) judge(name string, sources []source, missing ...lack) target.Check {
	if p.tokenless() && (name == CanTTFT || name == CanTPOT) {
		return no("requests end and no token was ever generated: the model answers with none, as one that embeds or ranks does", "")
	}
	if c, ok := p.firstOf(name, sources); ok {
		return c
	}
	l := missing[slices.IndexFunc(missing, func(l lack) bool { return len(l.names) == 0 || slices.Contains(l.names, name) })]
	if l.why == notYet && p.ended() {
		l.why = "requests have ended, and the page has none of its families"
	}
	return no(l.why, l.cure)
}

// flying says whether the page shows requests in flight.
func (p *Page) flying() bool { return p.Has(RequestsActive) || p.Has(RequestsRunning) }

// NotShown is something that no page of a kind shows, for people.
type NotShown struct {
	// What is not shown, Why is how the server behaves, Instead what can be done.
	What, Why, Instead string
}

// canary is what shows most of what a page does not.
const canary = "send canary requests"
