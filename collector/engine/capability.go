package engine

import (
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
	// Canary is true where requests are sent to the replica.
	Canary bool
}

// Ways out that capabilities of several kinds have.
const (
	cureDCGM   = "run the DCGM exporter next to it"
	cureHeader = "http_headers with the header of the restricted API"
)

// yes and no are checks that [named] gives their name.
func yes(reason string) target.Check      { return target.Yes("", reason) }
func no(reason, cure string) target.Check { return target.No("", reason, cure) }

// named gives a check its name.
func named(name string, c target.Check) target.Check {
	c.Name = name
	return c
}

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
	switch name {
	case CanCancel:
		return named(name, k.cancel(e))
	case CanTTFT:
		return k.orCanary(e, e.Capability(name, k))
	}
	return e.Capability(name, k)
}

// cancel judges whether the page would show that a request ends whose client
// leaves.
func (k *Known) cancel(e Engine) target.Check {
	switch {
	case k.Page == nil:
		return e.Capability(CanRunning, k)
	case !k.Page.Has(RequestsActive) && !k.Page.Has(RequestsRunning):
		return no("nothing on its page shows requests in flight", "")
	case e.Quirks(k.Page).GaugesWhenRequestsEnd:
		return no("its gauges are read only when a request ends", "")
	}
	if why := k.mute(e); why != "" {
		return no(why, "")
	}
	return yes("the page shows requests while they run: canary.cancel_within of the pool checks that one whose client leaves is gone")
}

// mute says why the server cannot be asked for a streamed answer; empty where it
// can.
func (k *Known) mute(e Engine) (why string) {
	version := ""
	if k.Facts != nil {
		version = k.Facts.EngineVersion
	}
	_, why = e.Stream(version, k.Page)
	return why
}

// orCanary takes the canary for the source of what a server itself does not
// expose, where it is on and can ask.
func (k *Known) orCanary(e Engine, c target.Check) target.Check {
	if c.OK || !k.Canary || k.mute(e) != "" {
		return c
	}
	return target.Yes(c.Name, "the canary, of its own requests only: llm_server_canary_time_to_first_token_seconds; of the server: "+c.Reason)
}

// health judges whether the server's API speaks of its health.
func (k *Known) health() target.Check {
	switch k.Health.API {
	case APIReady, APINotReady:
		return yes("the API says whether it is ready")
	case APIRefused:
		return no("nothing listens on the API's address", "set api_port if the API is elsewhere; a server with its HTTP API off says nothing")
	case APIFailed:
		if k.Health.Status == http.StatusUnauthorized || k.Health.Status == http.StatusForbidden {
			return no(k.Health.Detail, cureHeader)
		}
		return no(k.Health.Detail, "")
	case APIUnknown:
	}
	return no("the API was not asked yet, or its address is not known", "set api_port")
}

// config judges whether the server says how it is configured; otherwise is the
// answer of a kind whose server does not.
func (k *Known) config(otherwise target.Check) target.Check {
	if k.Facts != nil && slices.ContainsFunc(k.Facts.Models, func(m ModelFacts) bool { return m.Configured }) {
		return yes("the configs of its models")
	}
	if k.Page.Has(ModelConfig) {
		return yes("the config info on its page")
	}
	return otherwise
}

// notYet is why a page of which nothing else is known shows little.
const notYet = "not on the page yet; families come with the first request"

// source is a signal from which a capability comes, and the reason for people.
type source struct {
	name   string
	signal Signal
	says   string
}

// firstOf finds the first source of a capability that the page has.
func (p *Page) firstOf(name string, sources []source) (target.Check, bool) {
	for _, s := range sources {
		if s.name == name && p.Has(s.signal) {
			return yes(s.says), true
		}
	}
	return target.Check{}, false
}

// lack is why a page does not show a capability, and what brings it.
type lack struct{ name, why, cure string }

// judge is the first source of a capability that the page has, else the first lack of
// it; one without a name is of all others.
func (p *Page) judge(name string, sources []source, lacks []lack) target.Check {
	if c, ok := p.firstOf(name, sources); ok {
		return c
	}
	i := slices.IndexFunc(lacks, func(l lack) bool { return l.name == name || l.name == "" })
	return no(lacks[i].why, lacks[i].cure)
}

// NotShown is something that no page of a kind shows, for people.
type NotShown struct {
	// What is not shown, Why is how the server behaves, Instead what can be done.
	What, Why, Instead string
}

// canary is what shows most of what a page does not.
const canary = "send canary requests"
