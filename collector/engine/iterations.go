package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
)

// IterationsPath is where trtllm-serve hands out the statistics of its
// iterations as JSON. Reading takes them away from every other reader, so it is
// asked only where the operator says so.
const IterationsPath = "/metrics"

// iterationRow is one iteration of the executor, of one rank where attention is
// data parallel (tensorrt_llm, executor/base_worker.py and json_utils.h; the
// PyTorch backend leaves some of it 0).
type iterationRow struct {
	Iteration *uint64 `json:"iter"`
	Rank      int64   `json:"attentionDpRank"`
	// Dropped counts the rows that the server itself lost so far.
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

	hash uint64
}

// readIterations reads what trtllm-serve hands out: a list, empty when there is
// nothing new.
func readIterations(text []byte) ([]iterationRow, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("the answer is no list of iterations: %w", err)
	}
	rows := make([]iterationRow, 0, len(raw))
	for i, one := range raw {
		var row iterationRow
		if err := json.Unmarshal(one, &row); err != nil {
			return nil, fmt.Errorf("iteration %d of the answer: %w", i, err)
		}
		if row.Iteration == nil {
			return nil, errNoIteration
		}
		h := fnv.New64a()
		_, _ = h.Write(one)
		row.hash = h.Sum64()
		rows = append(rows, row)
	}
	return rows, nil
}

// errNoIteration: the rows are of something else.
var errNoIteration = errors.New("the answer has rows without iter: enable_iter_perf_stats is off, or this is no trtllm-serve")

// generated estimates the tokens that a row generated: one for each decoding
// request, or what the TensorRT backend says of them, the accepted drafts on
// PyTorch, and the first token of each request that became active. Requests
// that were paused or cut short make it wrong by a few.
func (r *iterationRow) generated() float64 {
	n := r.Inflight.Decoding
	if r.Inflight.TokensEach > 1 {
		n *= r.Inflight.TokensEach
	} else {
		n += r.Speculative.Accepted
	}
	return n + r.Admitted
}

// IterationSums are what the rows that were read so far add up to.
type IterationSums struct {
	// Iterations were read, Missing are holes between them.
	Iterations, Missing uint64
	// GeneratedTokens are estimated; ContextTokens were computed in prefill.
	GeneratedTokens, ContextTokens float64
	Completed                      float64
	// Queued and Active are those of the newest row of the last answer; nil
	// when it had none.
	Queued, Active *float64
	// Foreign is true when the holes of the last answer are another reader's
	// work.
	Foreign bool
}

// Iterations adds up the rows of one server. Rows that come twice count once;
// counters go on when the server starts anew. Not safe for concurrent use.
type Iterations struct {
	sums    IterationSums
	started bool
	newest  uint64
	dropped uint64
	// seen are the rows of the last iterations, by iteration and rank.
	seen map[rowKey]uint64
}

// rowKey tells rows apart.
type rowKey struct {
	iteration uint64
	rank      int64
}

const (
	// rowsKept is for how many iterations rows are known again.
	rowsKept = 4096
	// late is by how much a row may come after newer ones, as ranks and
	// pipeline stages report apart; an older one is of a server that began anew.
	late = 64
	// serverKeeps is how many rows a server keeps for its readers unless
	// iter_stats_max_iterations says otherwise; then it drops the oldest.
	serverKeeps = 1000
)

// Add reads one answer and gives the sums so far. Complete says that all
// answers since the last Add arrived: holes after a lost answer are our own.
func (b *Iterations) Add(text []byte, complete bool) (IterationSums, error) {
	rows, err := readIterations(text)
	if err != nil {
		return b.sums, err
	}
	b.sums.Queued, b.sums.Active, b.sums.Foreign = nil, nil, false
	missing := b.sums.Missing
	dropped := b.dropped
	var newest *iterationRow
	for i := range rows {
		if !b.fresh(&rows[i], i == 0 && len(rows) >= serverKeeps || !complete && i == 0) {
			continue
		}
		b.count(&rows[i])
		if rows[i].Rank == 0 && (newest == nil || *rows[i].Iteration >= *newest.Iteration) {
			newest = &rows[i]
		}
	}
	if newest != nil {
		b.sums.Queued, b.sums.Active = plain(newest.Queued), plain(newest.Active)
	}
	// What the server says it dropped itself, nobody else took.
	if b.dropped-dropped >= b.sums.Missing-missing {
		b.sums.Foreign = false
	}
	return b.sums, nil
}

// fresh says whether a row was not read before, and notes what is missing
// between it and the newest one. Excused holes are not another reader's.
func (b *Iterations) fresh(r *iterationRow, excused bool) bool {
	at, key := *r.Iteration, rowKey{*r.Iteration, r.Rank}
	hash, again := b.seen[key]
	switch {
	case again && (hash == r.hash || at == b.newest):
		return false
	case b.started && (again || at+late < b.newest):
		b.started, b.dropped = false, 0
	}
	if r.Dropped != nil {
		b.dropped = max(b.dropped, *r.Dropped)
	}
	switch {
	case !b.started:
		b.started, b.newest = true, at
		b.seen = make(map[rowKey]uint64)
	case at > b.newest:
		if hole := at - b.newest - 1; hole > 0 {
			b.sums.Missing += hole
			b.sums.Foreign = b.sums.Foreign || !excused
		}
		b.newest = at
	}
	b.remember(key, r.hash)
	return true
}

// remember keeps a row's key, and forgets those that are too old to matter.
func (b *Iterations) remember(key rowKey, hash uint64) {
	b.seen[key] = hash
	if len(b.seen) < 2*rowsKept {
		return
	}
	for k := range b.seen {
		if k.iteration+rowsKept < b.newest {
			delete(b.seen, k)
		}
	}
}

// count adds a row. Every rank has its own tokens; the rest is that of rank 0,
// of which the others show copies or zeros.
func (b *Iterations) count(r *iterationRow) {
	add := func(sum *float64, v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			*sum += v
		}
	}
	if r.Rank == 0 {
		b.sums.Iterations++
		add(&b.sums.Completed, r.Completed)
	} else {
		r.Admitted, r.Speculative.Accepted = 0, 0
	}
	add(&b.sums.GeneratedTokens, r.generated())
	add(&b.sums.ContextTokens, r.Inflight.ContextTokens)
}

// plain is a count that makes sense, nil for others.
func plain(v *float64) *float64 {
	if v == nil || *v < 0 {
		return nil
	}
	return v
}
