// Package target defines the data about one replica: where it is scraped, its identity, and its
// status. It imports no other package of the exporter. Begin reading at [Target] and [Status].
package target

import (
	"cmp"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Target is one replica as it was discovered and relabeled. It is immutable.
type Target struct {
	// PoolID and ReplicaID together are unique among the targets of an exporter.
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	// Engine is the configured kind of server, or [Auto].
	Engine string `json:"engine"`
	// MetricsURL is the page to scrape. An empty path leaves the path to the engine.
	MetricsURL string `json:"metrics_url"`
	// APIURL is the base URL of the server's API (health, version, model config), without a
	// trailing slash; empty if there is none.
	APIURL string `json:"api_url,omitempty"`
	// EngineVersion and TRTLLMVersion are set by the operator; if empty, the server is asked.
	EngineVersion string `json:"-"`
	TRTLLMVersion string `json:"-"`
	// Silent marks a worker rank without a port, which is never scraped.
	Silent bool `json:"silent,omitempty"`
	// Beside is the replica whose name this target claims too, such as another port of its pod.
	// As long as it is set, the target does not count as a replica, unless it is Elsewhere, at another host.
	Beside    string `json:"beside,omitempty"`
	Elsewhere bool   `json:"-"`
	// Pod reports that ReplicaID is the name of a Kubernetes pod.
	Pod bool `json:"-"`
	// Labels are additional labels set by discovery or relabeling.
	Labels map[string]string `json:"labels,omitempty"`
	// Interval is the time between two scrapes, Timeout the limit of one.
	Interval time.Duration `json:"-"`
	Timeout  time.Duration `json:"-"`
}

// Auto is the Engine of a target whose kind of server is detected.
const Auto = "auto"

// Auto reports whether the kind of server is detected.
func (t *Target) Auto() bool { return t.Engine == Auto }

// Key returns the unique name of the target: "pool_id/replica_id".
func (t *Target) Key() string { return t.PoolID + "/" + t.ReplicaID }

// Claims returns the unique name that the target would have if no other had it.
func (t *Target) Claims() string { return t.PoolID + "/" + cmp.Or(t.Beside, t.ReplicaID) }

// SameServer reports whether another target is scraped in the same way under the same name, so that they
// differ only in what discovery says about the server.
func (t *Target) SameServer(o *Target) bool {
	a, b := *t, *o
	for _, described := range []*Target{&a, &b} {
		described.Labels, described.EngineVersion, described.TRTLLMVersion = nil, "", ""
	}
	return reflect.DeepEqual(a, b)
}

// Public returns a URL without the parts that may contain secrets.
func Public(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return Scrub(raw)
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// urlUser matches the user information of a URL, which may contain an @ itself, and
// urlQuery its query. Errors of net/http quote whole URLs.
var (
	urlUser  = regexp.MustCompile(`(://)[^/\s"?#]*@`)
	urlQuery = regexp.MustCompile(`(\bhttps?://[^\s"?#]+)\?[^\s"]*`)
)

// Scrub removes the user information and queries of URLs from a text.
func Scrub(s string) string {
	if !strings.Contains(s, "://") || !strings.ContainsAny(s, "@?") {
		return s
	}
	return urlQuery.ReplaceAllString(urlUser.ReplaceAllString(s, "$1"), "$1")
}

// maxReason is how much of a reason is kept, which may quote what others wrote.
const maxReason = 1 << 10

// Shortened returns a reason, or its beginning if it is long. Whoever shortens a text hides secrets in it first.
func Shortened(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReason], "") + "..."
}

// Health is the result of the last scrape of a target.
type Health string

// Values of Health, named as in Prometheus.
const (
	HealthUnknown Health = "unknown"
	HealthUp      Health = "up"
	HealthDown    Health = "down"
)

// Status is the state of a target. It does not change once published.
type Status struct {
	Scraping
	Server
	Assessment
	// Models are the server's models, sorted by name.
	Models []Model `json:"models,omitempty"`
	// Checks lists the capabilities of the replica, what keeps its answers from being
	// deterministic, deviations from the expected configuration, and unanswered questions.
	Checks []CheckList `json:"-"`
	// Skew is nil while the page fails.
	Skew SkewFacts `json:"-"`
	// Canary is the state of the canary; nil if it is off.
	Canary *Canary `json:"canary,omitempty"`
	// FactsVersion counts the changes of Models, Checks and Skew.
	FactsVersion uint64 `json:"-"`
}

// Scraping is the state of the scrapes of a target.
type Scraping struct {
	Health Health `json:"health"`
	// PageURL is the URL of the last scrape; empty before the first.
	PageURL      string        `json:"-"`
	LastScrape   time.Time     `json:"last_scrape,omitzero"`
	LastSuccess  time.Time     `json:"last_success,omitzero"`
	LastDuration time.Duration `json:"-"`
	LastReason   string        `json:"last_failure_reason,omitempty"`
	LastError    string        `json:"last_error,omitempty"`
	// LastFailure is what LastError says, nil if the page is only too old.
	LastFailure error  `json:"-"`
	Samples     int    `json:"samples"`
	BodyBytes   int64  `json:"body_bytes"`
	Scrapes     uint64 `json:"scrapes"`
	Failures    uint64 `json:"scrape_failures"`
	// LeftOut describes the series that exceed the output limits, one sentence per cause.
	LeftOut []string `json:"left_out,omitempty"`
}

// Server describes the server of a target.
type Server struct {
	EngineVersion string `json:"engine_version,omitempty"`
	TRTLLMVersion string `json:"trtllm_version,omitempty"`
	VersionSource string `json:"trtllm_version_source,omitempty"`
	// Worker is true behind a router, which counts the same requests.
	Worker         bool   `json:"-"`
	DetectedEngine string `json:"detected_engine,omitempty"`
	// CountersAppear is true if a counter that is not on its page is 0.
	CountersAppear bool `json:"-"`
	// APIURL is the base URL of the API once it is known to belong to the server.
	APIURL string `json:"-"`
	// Companion names the program if it is not an LLM server; empty for servers.
	Companion string `json:"-"`
	// EngineEvidence describes how the kind was detected; empty if it is configured.
	EngineEvidence string `json:"engine_evidence,omitempty"`
	// Generation is the variant of the page within its kind of server, GenerationReason how it
	// was recognized.
	Generation       string `json:"generation,omitempty"`
	GenerationReason string `json:"generation_reason,omitempty"`
	// EngineBuildVersion is the version that built the TensorRT engine.
	EngineBuildVersion string `json:"engine_build_version,omitempty"`
}

// Assessment is the last verdict on a replica, as pages and probes show it.
type Assessment struct {
	State       string    `json:"state,omitempty"`
	StateReason string    `json:"state_reason,omitempty"`
	StateSince  time.Time `json:"state_since,omitzero"`
	// Severity is ok, look or broken. Runbook is the section of the runbook about the state,
	// empty if nothing is wrong.
	Severity string `json:"severity,omitempty"`
	Runbook  string `json:"runbook,omitempty"`
	// Suspected is true if a healthy server may look the same.
	Suspected bool `json:"suspected,omitempty"`
	// Deliberate is true if it serves nothing because somebody paused or unloaded it.
	Deliberate bool `json:"deliberate,omitempty"`
	// Judged is true once the replica was judged. ProbeReady and ProbeLive are true for 200. Accused
	// is true if only pages can make it ready again.
	Judged     bool `json:"-"`
	Accused    bool `json:"-"`
	ProbeReady bool `json:"-"`
	ProbeLive  bool `json:"-"`
}

// Changed reports whether more than numbers and times differ from the previous status. Every
// failed scrape counts as a change.
func (s *Status) Changed(previous *Status) bool {
	return s.LastError != "" || s.Health != previous.Health ||
		s.State != previous.State || !s.StateSince.Equal(previous.StateSince) || s.StateReason != previous.StateReason ||
		s.Severity != previous.Severity || s.FactsVersion != previous.FactsVersion || !s.Canary.equal(previous.Canary)
}

// Canary is the state of the canary of a replica. It is immutable.
type Canary struct {
	// Model is the requested model, empty while unknown.
	Model string `json:"model,omitempty"`
	// Hold is the reason why no requests are sent now, empty if they are.
	Hold string `json:"hold,omitempty"`
	// Result is the result of the last request in one word, Reason why it failed, and At when it
	// ended. All are empty before the first.
	Result string    `json:"result,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Cancel is the result of the last request that the canary canceled, with its reason.
	Cancel       string `json:"cancel,omitempty"`
	CancelReason string `json:"cancel_reason,omitempty"`
	// Output is the last answer, which is compared between replicas of one Group; empty if there
	// is nothing to compare.
	Group  string `json:"-"`
	Output string `json:"-"`
}

func (c *Canary) equal(o *Canary) bool {
	return c == o || c != nil && o != nil && *c == *o
}

// SkewFacts maps the facts in which replicas of a pool should be equal to their values by
// item, such as a model's config hash. The item of a fact about the whole replica is "".
type SkewFacts map[string]map[string]string

// Model describes one model of a server. Unknown fields are empty or nil.
type Model struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	ModelID string `json:"model_id"`
	// Role is entry, part or single.
	Role         string            `json:"role"`
	State        string            `json:"state,omitempty"`
	Backend      string            `json:"backend,omitempty"`
	Platform     string            `json:"platform,omitempty"`
	MaxBatchSize *int              `json:"max_batch_size,omitempty"`
	Decoupled    *bool             `json:"decoupled,omitempty"`
	Instances    *int              `json:"instance_count,omitempty"`
	Batching     *bool             `json:"dynamic_batching,omitempty"`
	Parameters   map[string]string `json:"parameters,omitempty"`
	ConfigHash   string            `json:"config_sha256,omitempty"`
}

// Check is a fact about a replica that holds or does not.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	// Cure is what would make it hold; empty if nothing does.
	Cure string `json:"cure,omitempty"`
	// Elsewhere is true if the cure is another program, so that the server cannot give more.
	Elsewhere bool `json:"-"`
}

// Curable reports whether the check could hold, and does not.
func (c *Check) Curable() bool { return !c.OK && c.Cure != "" && !c.Elsewhere }

// CheckList is a named list of checks of one kind.
type CheckList struct {
	Name   string
	Checks []Check
}

// FindChecks returns the list of that name, nil if there is none.
func FindChecks(lists []CheckList, name string) []Check {
	for _, l := range lists {
		if l.Name == name {
			return l.Checks
		}
	}
	return nil
}

// FailedNames returns the names of the checks that failed.
func FailedNames(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// Passed returns a check that holds.
func Passed(name, reason string) Check { return Check{Name: name, OK: true, Reason: reason} }

// Failed returns a check that does not hold.
func Failed(name, reason, cure string) Check { return Check{Name: name, Reason: reason, Cure: cure} }
