package engine

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Names of capabilities.
const (
	CanTokens     = "tokens"
	CanLiveTokens = "live_tokens"
	CanQueue      = "queue"
	CanRunning    = "running"
	CanTTFT       = "ttft"
	CanTPOT       = "tpot"
	CanE2E        = "e2e"
	CanQuantiles  = "quantiles"
	// These are about whether requests succeed, stall, and end after their client disconnected.
	CanOutcomes = "outcomes"
	CanStall    = "stall"
	CanCancel   = "cancel"
	CanKVCache  = "kv_cache"
	CanKVReuse  = "kv_reuse"
	CanGPU      = "gpu"
	CanHealth   = "health"
	CanConfig   = "config"
)

// CapabilityNames returns the capabilities in display order.
func CapabilityNames() []string {
	return []string{
		CanTokens,
		CanLiveTokens, CanQueue, CanRunning, CanTTFT, CanTPOT, CanE2E, CanQuantiles, CanOutcomes, CanStall, CanCancel,
		CanKVCache, CanKVReuse, CanGPU, CanHealth, CanConfig,
	}
}

// Knowledge holds the facts about a replica on which its capabilities depend.
type Knowledge struct {
	// Page is nil if the last scrape failed, MissingPage true if it failed with 404.
	Page        *Page
	MissingPage bool
	Facts       *Facts
	Health      Health
	// Version is the version of the server, as declared or answered; "" or "unknown" if neither tells.
	Version string
	// APIGiven is true if the operator said where the API is.
	APIGiven bool
	// Canary is true if canary requests are sent, Confirms if one is sent when the replica seems
	// to hang, Iterations if iteration statistics are read.
	Canary, Confirms, Iterations bool
}

// Remedies for several kinds.
const (
	cureDCGM      = "run the DCGM exporter next to it"
	cureAtClient  = "measure it at the client"
	cureElsewhere = "set api_port or api_path if the API is elsewhere"
	cureGiven     = "check api_port and api_path, which say where the API is"
	cureHeader    = "set authorization or http_headers to what the API requires"
	confirmHint   = "canary: { confirm: true } in the pool, a request when the replica is suspected,"
)

// curedElsewhere reports whether a remedy is another program, or a question of the exporter's own: then the
// server exposes all it can.
func curedElsewhere(cure string) bool {
	return slices.Contains([]string{
		cureDCGM, cureClient, cureCanary, cureAtClient, cureFront, cureWorkers, cureBehind,
	}, cure)
}

// versionOf returns the version of the server if it is of that kind. That of an engine inside another is not known.
func (k *Knowledge) versionOf(name Name) string {
	if k.Page.engine.Name != name {
		return ""
	}
	return k.Version
}

// mayPrecede reports whether the server, or an engine inside, may be of a release before one.
func (k *Knowledge) mayPrecede(name Name, release string) bool {
	version := k.versionOf(name)
	return releaseOf(version) == nil || before(release).Hold(version)
}

// elsewhere returns the remedy for an API that may be elsewhere, given the one if nobody said where.
// An address at which a server of the kind answers needs none.
func (k *Knowledge) elsewhere(unsaid string) string {
	switch {
	case k.Facts.get().Confirmed:
		return ""
	case k.APIGiven:
		return cureGiven
	}
	return unsaid
}

// yes and no return checks without a name.
func yes(reason string) target.Check      { return target.Passed("", reason) }
func no(reason, cure string) target.Check { return target.Failed("", reason, cure) }

// Capabilities judges what can be known about a replica. It returns nil while the replica is down.
func Capabilities(e *Kind, k *Knowledge) []target.Check {
	if e.Name == Unknown || k.Page == nil && !k.MissingPage {
		return nil
	}
	all := make([]target.Check, 0, len(CapabilityNames()))
	for _, name := range CapabilityNames() {
		all = append(all, k.check(e, name))
	}
	return all
}

// check judges one capability. Most depend on the kind, some are the same for all kinds.
func (k *Knowledge) check(e *Kind, name string) target.Check {
	var c target.Check
	_, noStream := e.Stream(k.Facts.get().EngineVersion, k.Page)
	switch name {
	case CanCancel:
		c = k.cancel(e, noStream)
	case CanHealth:
		c = k.health(e)
	case CanStall:
		c = k.stall(e.capability(name, k), noStream)
	default:
		c = e.capability(name, k)
	}
	if name == CanKVCache && c.OK && k.Page.cacheless() {
		c = no("its size on the page is 0: the engine has no KV cache, or has not run yet", "")
	}
	if name == CanTTFT && !c.OK && k.Canary && noStream == "" {
		c = yes("the canary, for its own requests only: llm_server_canary_time_to_first_token_seconds; for " +
			"the server: " + c.Reason)
	}
	c.Name, c.Elsewhere = name, !c.OK && curedElsewhere(c.Cure)
	return c
}

// cancel judges whether the page would show that a request ends when its client leaves.
func (k *Knowledge) cancel(e *Kind, noStream string) target.Check {
	switch {
	case k.Page == nil:
		return e.capability(CanRunning, k)
	case !k.Page.showsInFlight():
		return no("nothing on its page shows requests in flight", "")
	case e.Quirks(k.Page).GaugesWhenRequestsEnd:
		return no("its gauges are updated only when a request ends", "")
	case noStream != "":
		return no(noStream, "")
	}
	return yes("the page shows requests while they run: canary.cancel_within of the pool checks that one ends when " +
		"its client leaves")
}

// stall judges whether a server that hangs would be seen. What the page shows is one sign, which a
// healthy server may show too, so that only a question makes it stalled.
func (k *Knowledge) stall(visible target.Check, noStream string) target.Check {
	switch {
	case !visible.OK:
		return visible
	case (k.Confirms || k.Canary) && noStream == "":
		return yes(visible.Reason + "; a request of the exporter confirms it")
	case noStream != "":
		return yes(visible.Reason + "; llm_server_suspected shows it, since a healthy server may look the same")
	}
	return yes(visible.Reason + "; llm_server_suspected shows it, since a healthy server may " +
		"look the same; " + confirmHint + " settles it")
}

// health judges whether the API answers about health.
func (k *Knowledge) health(e *Kind) target.Check {
	switch k.Health.API {
	case APIReady, APINotReady:
		return yes(cmp.Or(e.healthNote, "the API reports whether it is ready"))
	case APIRefused:
		return no(
			"nothing listens on the API's address",
			k.elsewhere(cureElsewhere+"; a server with its HTTP API off cannot be asked"),
		)
	case APIFailed:
		if k.Health.Status == http.StatusUnauthorized || k.Health.Status == http.StatusForbidden {
			return no(k.Health.Detail, cureHeader)
		}
		return no(k.Health.Detail, k.elsewhere(cureElsewhere))
	case APIUnknown:
	}
	if e.Declared && e.Ready == "" {
		return no("the file of its kind does not say where its API tells its health (paths.health)", "")
	}
	return no(
		cmp.Or(k.Health.Detail, "the API was not asked yet, or its address is not known"),
		k.elsewhere(cureElsewhere),
	)
}

// config judges whether the server shows its configuration, and returns otherwise if it does not.
func (k *Knowledge) config(otherwise target.Check) target.Check {
	if slices.ContainsFunc(k.Facts.get().Models, func(m ModelFacts) bool { return m.Configured }) {
		if n := k.Facts.Unasked(); n > 0 {
			return yes(fmt.Sprintf("the configs of its models; %d are still to be asked for", n))
		}
		return yes("the configs of its models")
	}
	if k.Page.Has(ModelConfig) {
		return yes("the config info on its page")
	}
	return otherwise
}

// showsInFlight reports whether the page shows requests in flight.
func (p *Page) showsInFlight() bool { return p.Has(RequestsActive) || p.Has(RequestsRunning) }

// Checks of determinism. Batches and GPUs change the order of sums, versions change the kernels.
const (
	CheckOneInstance   = "one_instance"
	CheckPinnedGPUs    = "gpus_pinned"
	CheckNoBatching    = "no_dynamic_batching"
	CheckSingleRequest = "single_request"
	CheckVersions      = "versions_pinned"
)

// Pins are true for the versions of a replica that the operator declared or expects.
type Pins struct{ EngineVersion, TRTLLMVersion bool }

// Determinism checks whether identical requests get identical answers, as far as known.
func Determinism(e *Kind, f *Facts, p *Page, pins Pins) []target.Check {
	var open []string
	if !pins.EngineVersion {
		open = append(open, "engine_version")
	}
	if !pins.TRTLLMVersion && e.trtllm {
		open = append(open, "trtllm_version")
	}
	versions := target.Passed(CheckVersions, "its versions are declared or expected")
	if len(open) > 0 {
		versions = target.Failed(CheckVersions, "declare or expect "+strings.Join(open, " and "), "")
	}
	return append(e.Determinism(f, p), versions)
}

// admitsOne checks that only one request is batched at a time; known is false without a limit.
func admitsOne(p *Page) (check target.Check, known bool) {
	limit, known := p.Value(RequestsLimit)
	if !known {
		return check, false
	}
	reason := fmt.Sprintf("the executor admits %.0f requests at once", limit)
	if limit != 1 {
		return target.Failed(CheckSingleRequest, reason+oneInFlight, ""), true
	}
	return target.Passed(CheckSingleRequest, reason), true
}

// oneInFlight is the remedy for requests that share a batch.
const oneInFlight = "; let clients keep one request in flight, or set the largest batch of the engine to 1"
