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
}

// Iterations adds up the rows of a trtllm-serve, across restarts. It is not safe for concurrent
// use.
type Iterations struct {
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
func (b *Iterations) Add(text []byte, complete bool) (IterationSums, error) {
	rows, err := readIterations(text)
	if err != nil {
		return b.sums, err
	}
	b.sums.Queued, b.sums.Active, b.sums.Foreign = nil, nil, false
	missing := b.sums.Missing
	b.lost = 0
	var newest *iterationRow
	ranked := false
	for i := range rows {
		r := &rows[i]
		ranked = ranked || r.Rank != 0
		if !b.isNew(r, newest == nil && (len(rows) >= serverRows || !complete)) {
			continue
		}
		b.count(r)
		if r.Rank == 0 && (newest == nil || *r.Iteration >= *newest.Iteration) {
			newest = r
		}
	}
	if newest != nil {
		b.sums.Queued, b.sums.Active = notNegative(newest.Queued), notNegative(newest.Active)
	}
	if ranked {
		b.sums.Active = nil // Rank 0 knows only its own requests.
	}
	// Rows that the server itself dropped were not taken by another reader.
	if b.lost >= b.sums.Missing-missing {
		b.sums.Foreign = false
	}
	return b.sums, nil
}

// isNew reports whether a row was not read before, and counts the rows that are missing before it.
func (b *Iterations) isNew(r *iterationRow, excused bool) bool {
	number := *r.Iteration
	key := rowKey{number, r.Rank}
	hash, repeated := b.hashes[key]
	switch {
	case repeated && (hash == r.hash || number == b.newest):
		return false
	case b.started && (repeated || number+maxLate < b.newest):
		b.started, b.dropped = false, 0
	}
	if r.Dropped != nil && *r.Dropped > b.dropped {
		if b.started {
			b.lost += *r.Dropped - b.dropped // Rows lost before the first one leave no gap.
		}
		b.dropped = *r.Dropped
	}
	switch {
	case !b.started:
		b.started, b.newest, b.newestOfFirst = true, number, number
		b.hashes = make(map[rowKey]uint64)
	case r.Rank == 0 && number > b.newestOfFirst:
		if skipped := number - b.newestOfFirst - 1; skipped > 0 {
			b.sums.Missing += skipped
			b.sums.Foreign = b.sums.Foreign || !excused
		}
		b.newestOfFirst = number
	}
	b.newest = max(b.newest, number)
	b.hashes[key] = r.hash
	if len(b.hashes) >= 2*rowMemory {
		maps.DeleteFunc(b.hashes, func(k rowKey, _ uint64) bool { return k.iteration+rowMemory < b.newest })
	}
	return true
}

// count adds a row. Each rank has its own tokens; everything else counts only for rank 0.
func (b *Iterations) count(r *iterationRow) {
	add := func(sum *float64, v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			*sum += v
		}
	}
	if r.Rank == 0 {
		b.sums.Iterations++
		add(&b.sums.Completed, r.Completed)
	}
	add(&b.sums.GeneratedTokens, r.generated())
	add(&b.sums.ContextTokens, r.Inflight.ContextTokens)
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
var errNoIteration = errors.New("the answer has rows without iter: enable_iter_perf_stats is off, or this is not trtllm-serve")

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
