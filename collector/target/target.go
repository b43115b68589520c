// Package target holds the plain data of one replica: where it answers, who
// it is and how its last scrape went. It knows no other room of the exporter.
package target

import (
	"regexp"
	"strings"
	"time"
)

// Target is one replica as discovery found it and relabeling left it. It is
// immutable once built; a change of any field makes another Target.
type Target struct {
	// PoolID and ReplicaID together name the replica; no two targets of one
	// exporter share the pair.
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	// Engine is the configured server kind, "auto" when it is to be detected.
	Engine string `json:"engine"`
	// MetricsURL is the page to scrape, with scheme, host, port and path. An
	// empty path leaves the choice to the engine.
	MetricsURL string `json:"metrics_url"`
	// APIURL is the base of the server's own HTTP API (health, version, model
	// config), without a trailing slash; empty when there is none to ask.
	APIURL string `json:"api_url,omitempty"`
	// EngineVersion and TRTLLMVersion are what the operator declared; empty
	// leaves them to the server's answers.
	EngineVersion string `json:"-"`
	TRTLLMVersion string `json:"-"`
	// Silent targets are ranks that bind no port: they are never scraped, and
	// their silence is no failure.
	Silent bool `json:"silent,omitempty"`
	// Labels are further labels of the target that discovery or relabeling
	// set, in no particular order of meaning.
	Labels map[string]string `json:"labels,omitempty"`
	// Interval is the time between two scrapes, Timeout the whole time one
	// scrape may take.
	Interval time.Duration `json:"-"`
	Timeout  time.Duration `json:"-"`
}

// Auto leaves the kind of a server to detection.
const Auto = "auto"

// Auto reports whether the kind of the target's server is to be found out.
func (t *Target) Auto() bool { return t.Engine == Auto }

// Key names the target among all targets of the exporter: "pool_id/replica_id".
func (t *Target) Key() string { return t.PoolID + "/" + t.ReplicaID }

// Public is the address of a page without its parameters, which may hold a secret.
func Public(pageURL string) string {
	page, _, _ := strings.Cut(pageURL, "?")
	return page
}

// urlUser is what is between scheme and host of a URL, which may have an @ itself,
// urlQuery what is behind its path. Errors of net/http quote whole URLs.
var (
	urlUser  = regexp.MustCompile(`(://)[^/\s"?#]*@`)
	urlQuery = regexp.MustCompile(`(\bhttps?://[^\s"?#]+)\?[^\s"]*`)
)

// Scrub returns a text without users, passwords and queries of URLs.
func Scrub(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urlQuery.ReplaceAllString(urlUser.ReplaceAllString(s, "$1"), "$1")
}

// Health says how the last scrape of a target ended.
type Health string

// The three kinds of health, in Prometheus' words.
const (
	HealthUnknown Health = "unknown"
	HealthUp      Health = "up"
	HealthDown    Health = "down"
)

// Status is a copy of what is known of a target's scrapes at one moment.
type Status struct {
	Scraping
	Server
	Verdict
	// Models are the server's models in order, Checks what can be known of the
	// replica, what keeps its answers from being the same, how it differs from
	// what is expected and what its server did not answer. Skew are its values of
	// the facts in which replicas of a pool should be alike; nil while its page
	// fails. What is published never changes.
	Models []Model     `json:"models,omitempty"`
	Checks []CheckList `json:"-"`
	Skew   SkewFacts   `json:"-"`
	// Canary is what the canary shows; nil where it is off.
	Canary *Canary `json:"canary,omitempty"`
	// FactsVersion counts how often Models, Checks and Skew were made.
	FactsVersion uint64 `json:"-"`
}

// Scraping is how the scrapes of a target went.
type Scraping struct {
	Health Health `json:"health"`
	// PageURL is where the page was asked for last; empty before the first time.
	PageURL      string        `json:"-"`
	LastScrape   time.Time     `json:"last_scrape,omitzero"`
	LastSuccess  time.Time     `json:"last_success,omitzero"`
	LastDuration time.Duration `json:"-"`
	LastReason   string        `json:"last_failure_reason,omitempty"`
	LastError    string        `json:"last_error,omitempty"`
	Samples      int           `json:"samples"`
	BodyBytes    int64         `json:"body_bytes"`
	Scrapes      uint64        `json:"scrapes"`
	Failures     uint64        `json:"scrape_failures"`
	// LeftOut says which series of the page and derived from it are left off
	// /metrics because they are too many, a sentence each; nil for none.
	LeftOut []string `json:"left_out,omitempty"`
}

// Server is what the server of a target is.
type Server struct {
	EngineVersion string `json:"engine_version,omitempty"`
	TRTLLMVersion string `json:"trtllm_version,omitempty"`
	VersionSource string `json:"trtllm_version_source,omitempty"`
	// Worker says that it is behind a router, which counts the same requests.
	Worker         bool   `json:"-"`
	DetectedEngine string `json:"detected_engine,omitempty"`
	// APIURL is the base of its API once what answers there was seen to be its own;
	// empty before.
	APIURL string `json:"-"`
	// Companion is which program it is that is no LLM server, for people; empty for
	// servers.
	Companion string `json:"-"`
	// EngineEvidence says what showed the kind of the server, for people; empty
	// where nothing did, as with a kind that is configured.
	EngineEvidence string `json:"engine_evidence,omitempty"`
	// Generation is which of its kind's pages the server has, with the reason.
	Generation       string `json:"generation,omitempty"`
	GenerationReason string `json:"generation_reason,omitempty"`
	// EngineBuildVersion is the version that built the TensorRT engine.
	EngineBuildVersion string `json:"engine_build_version,omitempty"`
}

// Verdict is what was judged of a replica.
type Verdict struct {
	// State is what the replica is doing, with the reason for people, and
	// since when.
	State       string    `json:"state,omitempty"`
	StateReason string    `json:"state_reason,omitempty"`
	StateSince  time.Time `json:"state_since,omitzero"`
	// Severity is how much that matters (ok, look or broken), Runbook the entry
	// of the runbook about it; empty where nothing is wrong.
	Severity string `json:"severity,omitempty"`
	Runbook  string `json:"runbook,omitempty"`
	// Suspected says that one sign speaks against the replica that a healthy server may
	// give too.
	Suspected bool `json:"suspected,omitempty"`
	// Unread says that its page cannot be read, which is nothing against its requests.
	Unread bool `json:"-"`
}

// Changed reports whether a status is other than the one before it in more than numbers
// and times, or that of another failure.
func (s *Status) Changed(before *Status) bool {
	return s.LastError != "" || s.Health != before.Health ||
		s.State != before.State || !s.StateSince.Equal(before.StateSince) || s.StateReason != before.StateReason ||
		s.Severity != before.Severity || s.FactsVersion != before.FactsVersion || !s.Canary.equal(before.Canary)
}

// Canary is what the canary shows of a replica. It is immutable.
type Canary struct {
	// Model is the model that is asked; empty while it is not known.
	Model string `json:"model,omitempty"`
	// Hold says why nothing is asked now; empty when requests are sent.
	Hold string `json:"hold,omitempty"`
	// Result is one word for how the last request went, Reason why it failed, At
	// when it ended; empty before the first.
	Result string    `json:"result,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Cancel is one word for what became of the last request whose client left on
	// purpose, CancelReason says why; empty before the first.
	Cancel       string `json:"cancel,omitempty"`
	CancelReason string `json:"cancel_reason,omitempty"`
	// Output is what the last answer was, for the comparison with those of other
	// replicas of the same Group; empty where there is nothing to compare.
	Group  string `json:"-"`
	Output string `json:"-"`
}

// equal reports whether both show the same.
func (c *Canary) equal(o *Canary) bool {
	return c == o || c != nil && o != nil && *c == *o
}

// SkewFacts are a replica's values of the facts in which replicas of a pool
// should be alike, by the item they are of: a model's hash, a histogram's
// buckets; "" for what belongs to the whole replica.
type SkewFacts map[string]map[string]string

// Model is what is known of one model of a server; what is not is empty.
type Model struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	ModelID string `json:"model_id"`
	// Role is entry, part or single.
	Role     string `json:"role"`
	State    string `json:"state,omitempty"`
	Backend  string `json:"backend,omitempty"`
	Platform string `json:"platform,omitempty"`
	// MaxBatchSize, Decoupled, Instances and Batching are nil while the config
	// is not known.
	MaxBatchSize *int              `json:"max_batch_size,omitempty"`
	Decoupled    *bool             `json:"decoupled,omitempty"`
	Instances    *int              `json:"instance_count,omitempty"`
	Batching     *bool             `json:"dynamic_batching,omitempty"`
	Parameters   map[string]string `json:"parameters,omitempty"`
	ConfigHash   string            `json:"config_sha256,omitempty"`
}

// Check is one yes or no about a replica, with the reason for people and what
// would turn a no into a yes.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	Cure   string `json:"cure,omitempty"`
}

// CheckList is one kind of checks about a replica, under the name that it has
// on /targets.
type CheckList struct {
	Name   string
	Checks []Check
}

// FindChecks is the list of that name; nil when there is none.
func FindChecks(lists []CheckList, name string) []Check {
	for _, l := range lists {
		if l.Name == name {
			return l.Checks
		}
	}
	return nil
}

// FailedNames are the names of the checks that are not met.
func FailedNames(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// Passed is a check that holds.
func Passed(name, reason string) Check { return Check{Name: name, OK: true, Reason: reason} }

// Failed is a check that does not hold; cure is empty where nothing helps.
func Failed(name, reason, cure string) Check { return Check{Name: name, Reason: reason, Cure: cure} }
