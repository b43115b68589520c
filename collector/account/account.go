package account

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Account is what the servers counted in a stretch of time.
type Account struct {
	// From and To are the times of the first and the last page that count.
	From    time.Time `json:"from,omitzero"`
	To      time.Time `json:"to,omitzero"`
	Seconds float64   `json:"seconds"`
	// Empty is why nothing lies between From and To, empty if something does.
	Empty string `json:"empty,omitempty"`
	// Skipped is how many seconds before From were left out.
	Skipped float64 `json:"skipped_seconds,omitempty"`
	// Idle is how many of the seconds may be without requests at both ends together, as the first page is
	// the last one before they came.
	Idle float64 `json:"idle_seconds_at_most,omitempty"`
	// Interrupted lists what keeps figures from being true, in order of time.
	Interrupted []Interruption `json:"interrupted,omitempty"`
	Replicas    []Replica      `json:"replicas"`
	// Models are those that worked or, if none did, all.
	Models []Model `json:"models"`
	// Sum is about all models. Levels are of all replicas at once.
	Sum Figures `json:"sum"`
}

// Replica is a server that was read.
type Replica struct {
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	Engine    string `json:"engine,omitempty"`
	Version   string `json:"engine_version,omitempty"`
	Tier      string `json:"tier,omitempty"`
	// State and Reason are what the last page showed.
	State  string `json:"state,omitempty"`
	Reason string `json:"state_reason,omitempty"`
	// Pages and Failed count scrapes in the stretch with and without a page.
	Pages  int `json:"pages"`
	Failed int `json:"failed_scrapes,omitempty"`
}

// Name returns the name of the replica among all.
func (r *Replica) Name() string { return r.PoolID + "/" + r.ReplicaID }

// Model has the figures of a model of a pool.
type Model struct {
	PoolID  string `json:"pool_id"`
	ModelID string `json:"model_id"`
	Figures
}

// Figures are counts, means and levels. A nil one is absent, and Absent says why, by its JSON name.
type Figures struct {
	// Requests that ended, by class. RequestSpeed counts those that are ok or whose end is not known.
	Requests     map[engine.Class]float64 `json:"requests,omitempty"`
	RequestSpeed *float64                 `json:"requests_per_second,omitempty"`
	Prompt       *float64                 `json:"prompt_tokens,omitempty"`
	// Generated counts tokens of requests that ended, or all tokens if the server counts each at once.
	Generated       *float64 `json:"generated_tokens,omitempty"`
	PromptSpeed     *float64 `json:"prompt_tokens_per_second,omitempty"`
	GenerationSpeed *float64 `json:"generated_tokens_per_second,omitempty"`
	// Running requests are in the batch, Open ones in the server, running or not.
	Running *Level `json:"running,omitempty"`
	Open    *Level `json:"open,omitempty"`
	Queue   *Level `json:"queue,omitempty"`
	// Batch is the mean number of requests in the batch of a replica while there were any.
	Batch       *float64 `json:"batch_size,omitempty"`
	FirstToken  *Times   `json:"ttft_seconds,omitempty"`
	OutputToken *Times   `json:"tpot_seconds,omitempty"`
	InterToken  *Times   `json:"itl_seconds,omitempty"`
	Whole       *Times   `json:"e2e_seconds,omitempty"`
	Queued      *Times   `json:"queue_seconds,omitempty"`
	// Cache is the share of the KV cache in use, Reused the share of prompt tokens found in it.
	Cache       *Level   `json:"kv_cache_ratio,omitempty"`
	Reused      *float64 `json:"reuse_ratio,omitempty"`
	Preemptions *float64 `json:"preemptions,omitempty"`
	// Energy is what the servers' GPUs consumed, whatever used them.
	Energy         *float64 `json:"energy_joules,omitempty"`
	EnergyPerToken *float64 `json:"energy_joules_per_token,omitempty"`
	// Steady is false if the queue still grew at its highest point: then the rates are no capacity.
	Steady *bool `json:"steady,omitempty"`
	// Growth describes that growth.
	Growth string `json:"queue_growth,omitempty"`
	// AtLeast is true if counts are lower bounds.
	AtLeast bool              `json:"at_least,omitempty"`
	Absent  map[string]string `json:"absent,omitempty"`
}

// Level is a number that changes: its mean over the stretch, its highest value on a page, and the one
// on the last page; nil if pages do not show it.
type Level struct {
	Mean    float64  `json:"mean"`
	Highest *float64 `json:"highest,omitempty"`
	Last    *float64 `json:"last,omitempty"`
}

// Times is a distribution of durations in seconds.
type Times struct {
	Mean        float64      `json:"mean"`
	Count       float64      `json:"count"`
	Percentiles []Percentile `json:"percentiles,omitempty"`
}

// Percentile is between two bounds of buckets; UpTo is nil above the largest bound.
type Percentile struct {
	Percent int      `json:"percent"`
	Above   float64  `json:"above"`
	UpTo    *float64 `json:"up_to,omitempty"`
}

// Interruption is something at a replica over which nothing may be averaged.
type Interruption struct {
	PoolID    string    `json:"pool_id"`
	ReplicaID string    `json:"replica_id"`
	Kind      Cause     `json:"kind"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Reason    string    `json:"reason"`

	// lossy is true if nothing was read of the replica before or after: what it counted meanwhile is lost.
	lossy bool
	// unread is true if nothing was ever read of it, so that nobody knows which models it has.
	unread bool
}

// Cause is what interrupted an account.
type Cause string

// Causes. A restart loses what the old process counted after its last page, and so does a reset, of the
// counters of one model. Processes are several behind one address. Of a replica in another state than
// ready, or suspected, time passes in which it does not do what it can.
const (
	Restarted Cause = "restart"
	Reset     Cause = "reset"
	Processes Cause = "processes"
	NoPage    Cause = "no_page"
	NotReady  Cause = "state"
)

// loses reports whether events may be missing from counts.
func (c Cause) loses() bool { return c == Restarted || c == Reset || c == Processes }
