package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
)

// Iterations implements Engine. A server keeps as many rows unless
// iter_stats_max_iterations says otherwise.
func (*trtllmServe) Iterations() *IterationStats {
	return &IterationStats{Path: serveIterationsPath, Read: readServeIterations, Keeps: 1000}
}

// serveIteration is one iteration of the executor, of one rank where attention is
// data parallel (tensorrt_llm, executor/base_worker.py and json_utils.h; the
// PyTorch backend leaves some of it 0).
type serveIteration struct {
	Iteration *uint64 `json:"iter"`
	// Rank is that of attention data parallelism. With TLLM_METRICS_ALL_RANKS rows
	// have another key for it, and this one is missing, or 0 (NVIDIA/TensorRT-LLM
	// PR 13221, executor/base_worker.py).
	Rank    int64 `json:"attentionDpRank"`
	AnyRank int64 `json:"rank"`
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
}

// readServeIterations reads what the server hands out: a list, empty when there
// is nothing new.
func readServeIterations(text []byte) ([]Iteration, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("the answer is no list of iterations: %w", err)
	}
	rows := make([]Iteration, 0, len(raw))
	for i, one := range raw {
		var r serveIteration
		if err := json.Unmarshal(one, &r); err != nil {
			return nil, fmt.Errorf("iteration %d of the answer: %w", i, err)
		}
		if r.Iteration == nil {
			return nil, errNoIteration
		}
		h := fnv.New64a()
		_, _ = h.Write(one)
		r.Rank = cmp.Or(r.Rank, r.AnyRank)
		rows = append(rows, Iteration{
			Number: *r.Iteration, Rank: r.Rank, Dropped: r.Dropped, Queued: r.Queued, Active: r.Active,
			Completed: r.Completed, Generated: r.generated(), Context: r.Inflight.ContextTokens, hash: h.Sum64(),
		})
	}
	return rows, nil
}

// errNoIteration: the rows are of something else.
var errNoIteration = errors.New("the answer has rows without iter: enable_iter_perf_stats is off, or this is no trtllm-serve")

// generated estimates the tokens that a row generated: one for each decoding
// request, or what the TensorRT backend says of them, the accepted drafts on
// PyTorch, and the first token of each request that became active. Every rank
// has its own decoding requests; the rest is that of rank 0, of which the others
// show copies or zeros. Requests that were paused or cut short make it wrong by
// a few.
func (r *serveIteration) generated() float64 {
	accepted, admitted := r.Speculative.Accepted, r.Admitted
	if r.Rank != 0 {
		accepted, admitted = 0, 0
	}
	if r.Inflight.TokensEach > 1 {
		return r.Inflight.Decoding*r.Inflight.TokensEach + admitted
	}
	return r.Inflight.Decoding + accepted + admitted
}
