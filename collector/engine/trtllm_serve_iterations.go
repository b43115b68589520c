package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
)

// IterationSums holds the sums over the rows of iteration statistics that were read.
type IterationSums struct {
	// Iterations counts the rows read, Missing the gaps between them.
	Iterations, Missing uint64
	// GeneratedTokens is an estimate; ContextTokens were computed in prefill.
	GeneratedTokens, ContextTokens float64
	Completed                      float64
	// Queued and Active are from the newest row of the last answer, nil if it had no rows.
	Queued, Active *float64
	// Foreign is true if another reader took the rows that are missing in the last answer.
	Foreign bool
	// Ranks says whether ranks have requests of their own, each of which then has rows; 0 if no row was read.
	Ranks Ranks
}

// iterationCounter adds up the rows of a trtllm-serve, across restarts. It is not safe for
// concurrent use.
type iterationCounter struct {
	sums    IterationSums
	started bool
	newest  uint64
	// newestOfFirst is the newest iteration of rank 0, which has a row in each iteration.
	newestOfFirst uint64
	// dropped is the server's own count of lost rows, lost the increase with the last answer.
	dropped, lost uint64
	// hashes identify the latest rows.
	hashes map[rowKey]uint64
}

// rowKey identifies a row between two restarts of the server.
type rowKey struct {
	iteration uint64
	rank      int64
}

const (
	// serverRows is how many rows a server keeps (iter_stats_max_iterations).
	serverRows = 1000
	// rowMemory is the number of iterations for which repeated rows are recognized.
	rowMemory = 4096
	// maxLate is how far a row may lag behind newer rows, since ranks and pipeline stages report
	// separately. An older row means that the server restarted.
	maxLate = 64
)

// Add adds one answer and returns the sums. If an answer was lost since the last Add, complete
// must be false, so that the gap is not attributed to another reader.
func (c *iterationCounter) Add(text []byte, complete bool) (IterationSums, error) {
	rows, err := readIterations(text)
	if err != nil {
		return c.sums, err
	}
	c.sums.Queued, c.sums.Active, c.sums.Foreign = nil, nil, false
	missing := c.sums.Missing
	c.lost = 0
	var newest *iterationRow
	ranked := false
	for i := range rows {
		r := &rows[i]
		ranked = ranked || r.Rank != 0
		if !c.isNew(r, newest == nil && (len(rows) >= serverRows || !complete)) {
			continue
		}
		c.count(r)
		if r.Rank == 0 && *r.Iteration == c.newestOfFirst {
			newest = r
		}
	}
	switch {
	case ranked:
		c.sums.Ranks = RanksApart
	case len(rows) > 0 && c.sums.Ranks == 0:
		c.sums.Ranks = RanksOne // Until another rank has a row: an answer may end within an iteration.
	}
	if newest != nil {
		c.sums.Queued, c.sums.Active = notNegative(newest.Queued), notNegative(newest.Active)
	}
	if ranked {
		c.sums.Active = nil // Rank 0 knows only its own requests.
	}
	// Rows that the server itself dropped were not taken by another reader.
	if c.lost >= c.sums.Missing-missing {
		c.sums.Foreign = false
	}
	return c.sums, nil
}

// isNew reports whether a row was not read before, and counts the rows that are missing before it.
func (c *iterationCounter) isNew(r *iterationRow, excused bool) bool {
	number := *r.Iteration
	key := rowKey{number, r.Rank}
	hash, repeated := c.hashes[key]
	switch {
	case repeated && (hash == r.hash || number == c.newest):
		return false
	case c.started && (repeated || number+maxLate < c.newest):
		c.started, c.dropped, c.sums.Ranks = false, 0, 0
	}
	if r.Dropped != nil && *r.Dropped > c.dropped {
		if c.started {
			c.lost += *r.Dropped - c.dropped // Rows lost before the first one leave no gap.
		}
		c.dropped = *r.Dropped
	}
	switch {
	case !c.started:
		c.started, c.newest, c.newestOfFirst = true, number, number
		c.hashes = make(map[rowKey]uint64)
	case r.Rank == 0 && number > c.newestOfFirst:
		if skipped := number - c.newestOfFirst - 1; skipped > 0 {
			c.sums.Missing += skipped
			c.sums.Foreign = c.sums.Foreign || !excused
		}
		c.newestOfFirst = number
	}
	c.newest = max(c.newest, number)
	c.hashes[key] = r.hash
	if len(c.hashes) >= 2*rowMemory {
		maps.DeleteFunc(c.hashes, func(k rowKey, _ uint64) bool { return k.iteration+rowMemory < c.newest })
	}
	return true
}

// count adds a row. Each rank has its own tokens; everything else counts only for rank 0.
func (c *iterationCounter) count(r *iterationRow) {
	add := func(sum *float64, v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			*sum += v
		}
	}
	if r.Rank == 0 {
		c.sums.Iterations++
		add(&c.sums.Completed, r.Completed)
	}
	add(&c.sums.GeneratedTokens, r.generated())
	add(&c.sums.ContextTokens, r.Inflight.ContextTokens)
}

func notNegative(v *float64) *float64 {
	if v == nil || *v < 0 {
		return nil
	}
	return v
}

// iterationRow is one iteration of the executor, or of one rank if attention is data parallel
// (tensorrt_llm, executor/base_worker.py and json_utils.h). On PyTorch some fields are 0.
type iterationRow struct {
	Iteration *uint64 `json:"iter"`
	// Rank is the rank of attention data parallelism. With TLLM_METRICS_ALL_RANKS it is in AnyRank,
	// and this key is missing or 0 (NVIDIA/TensorRT-LLM PR 13221, executor/base_worker.py).
	Rank    int64 `json:"attentionDpRank"`
	AnyRank int64 `json:"rank"`
	// Dropped counts the rows that the server itself lost.
	Dropped *uint64 `json:"statsDroppedFrames"`

	Queued    *float64 `json:"numQueuedRequests"`
	Active    *float64 `json:"numActiveRequests"`
	Admitted  float64  `json:"numNewActiveRequests"`
	Completed float64  `json:"numCompletedRequests"`

	Inflight struct {
		Decoding      float64 `json:"numGenRequests"`
		ContextTokens float64 `json:"numCtxTokens"`
		TokensEach    float64 `json:"avgNumDecodedTokensPerIter"`
	} `json:"inflightBatchingStats"`
	Speculative struct {
		Accepted float64 `json:"numAcceptedTokens"`
	} `json:"specDecodingStats"`

	// hash distinguishes rows with equal iteration and rank from before and after a restart.
	hash uint64
}

// errNoIteration is the error for rows of something else.
var errNoIteration = errors.New("the answer has rows without iter: enable_iter_perf_stats is off, or this is not " +
	"trtllm-serve")

// readIterations decodes an answer, which is a list of rows, empty if there is nothing new.
func readIterations(text []byte) ([]iterationRow, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("the answer is not a list of iterations: %w", err)
	}
	rows := make([]iterationRow, len(raw))
	for i := range rows {
		r := &rows[i]
		if err := json.Unmarshal(raw[i], r); err != nil {
			return nil, fmt.Errorf("iteration %d of the answer: %w", i, err)
		}
		if r.Iteration == nil {
			return nil, errNoIteration
		}
		h := fnv.New64a()
		_, _ = h.Write(raw[i])
		r.Rank, r.hash = cmp.Or(r.Rank, r.AnyRank), h.Sum64()
	}
	return rows, nil
}

// generated estimates the tokens that were generated in a row: one per decoding request, or the
// average that the TensorRT backend shows; the accepted drafts on PyTorch; and the first token of
// each request that became active. Each rank has its own decoding requests; otherwise ranks other
// than 0 show copies or zeros. Paused and truncated requests make it slightly wrong.
func (r *iterationRow) generated() float64 {
	accepted, admitted := r.Speculative.Accepted, r.Admitted
	if r.Rank != 0 {
		accepted, admitted = 0, 0
	}
	if r.Inflight.TokensEach > 1 {
		return r.Inflight.Decoding*r.Inflight.TokensEach + admitted
	}
	return r.Inflight.Decoding + accepted + admitted
}
