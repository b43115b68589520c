package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Ranks says whose requests the batches are that the ranks of an engine show.
type Ranks uint8

const (
	// RanksUnseen is where no rank shows its batch, or the stages of a pipeline show one
	// of their microbatches each.
	RanksUnseen Ranks = iota + 1
	// RanksOne is where one rank shows it, or tensor-parallel ones show the same.
	RanksOne
	// RanksUnsure is where several show it, and nothing says yet whether it is the same.
	RanksUnsure
	// RanksApart is where attention is data parallel: each rank has requests of its own.
	RanksApart
)

// serveBatch ends the name of the batch of a rank, which its label names.
const serveBatch, labelRank = "scheduled_batch_size", "rank"

// ranked are the batches that ranks show: where they are on the page, the first of
// the ranks, and what follows from their labels alone, 0 for nothing.
type ranked struct {
	batches []int
	first   string
	stated  Ranks
	// whole says that ranks of other machines do not lack.
	whole bool
	ranks Ranks
}

// readRanks takes in which ranks show a batch. That there are several proves
// nothing: tensor-parallel ranks show the same requests, and those of a pipeline a
// microbatch each (TensorRT-LLM, examples/serve/README.md and
// metrics/batch_metrics.py). Of a rank with several processes nobody knows which
// lives.
func readRanks(index Index, all []labels.Labels) ranked {
	r := ranked{whole: true}
	wide, deep := 0, 0
	seen, twice := make(map[string]bool), false
	for i, lset := range all {
		for _, m := range index[lset.Get(model.MetricNameLabel)] {
			switch m.Signal { //nolint:exhaustive // Only these say something of ranks.
			case ParallelConfig:
				wide, _ = strconv.Atoi(lset.Get("tensor_parallel_size"))
				deep, _ = strconv.Atoi(lset.Get("pipeline_parallel_size"))
			case IterationBatch:
				rank := lset.Get(labelRank)
				twice = twice || seen[rank]
				if seen[rank] = true; r.first == "" || rank < r.first {
					r.first = rank
				}
				r.batches = append(r.batches, i)
			}
		}
	}
	r.whole = wide == 0 || wide == len(seen)
	switch {
	case len(seen) == 0 || deep > 1:
		r.stated = RanksUnseen
	case len(seen) == 1:
		r.stated = RanksOne
	case twice:
		r.stated = RanksUnsure
	}
	return r
}

// settle takes what was found out of the ranks, unless their labels say it.
func (r *ranked) settle(found Ranks) {
	switch {
	case r.stated != 0:
		r.ranks = r.stated
	case found == RanksApart && !r.whole:
		r.ranks = RanksUnsure
	default:
		r.ranks = found
	}
}

// ofOneRank are the signals of iterations that are one rank's where attention is data
// parallel.
func ofOneRank() []Signal {
	return []Signal{
		RequestsActive, RequestsWaiting, RequestsPrefill, RequestsDecode, RequestsPaused, RequestsLimit, ContextTokens, PrefillOccupancy,
		BatchLimit, BatchTokensLimit, KVBlocksLimit, KVBlocksUsed, KVBlocksFree,
	}
}

// holds says whether a meaning is one of a series on a page with such ranks. What
// runs is their batches, if they show them: the newest of the first where all show
// the same, nothing where none has any, or the sum.
func (r *ranked) holds(m *Meaning, lset labels.Labels) bool {
	switch {
	case r.ranks == RanksUnseen && strings.HasSuffix(m.Name, serveBatch):
		return m.Signal == IterationBatch
	case r.ranks == RanksUnseen:
		return true
	case m.Signal == EngineRanks:
		return r.ranks == RanksApart
	case m.Signal == RequestsRunning && !strings.HasSuffix(m.Name, serveBatch):
		return false
	case m.Signal == RequestsRunning && m.Combine == Newest:
		return r.ranks == RanksOne && lset.Get(labelRank) == r.first
	case m.Signal == RequestsRunning:
		return r.ranks == map[Combine]Ranks{Nothing: RanksUnsure, Sum: RanksApart}[m.Combine]
	}
	return r.ranks == RanksOne || !slices.Contains(ofOneRank(), m.Signal)
}

// ofRanks judges what depends on whether the ranks of an engine share their
// requests; false for all else.
func (p *Page) ofRanks(name string) (target.Check, bool) {
	several := strconv.Itoa(len(p.batches)) + " ranks"
	queued, running, cache := name == CanQueue, name == CanRunning, name == CanKVCache && p.Has(KVUtilization)
	switch {
	case p.ranks == RanksUnsure && (queued || running || name == CanStall):
		return no(p.unsure(several), ""), true
	case p.ranks == RanksApart && queued:
		return no("attention is data parallel over "+several+": num_requests_waiting is the last one's, and requests wait at the first",
			"iteration_stats: true in the pool, then llm_server_iteration_stats_queued_requests"), true
	case p.ranks == RanksApart && running:
		return yes("the batches of " + several + " together, each of which has requests of its own"), true
	case p.ranks == RanksApart && cache:
		return yes("kv_cache_utilization, which is that of one of " + several), true
	case p.ranks == RanksOne && running:
		return yes("scheduled_batch_size, the batch of the latest iteration, 0 when idle"), true
	}
	return target.Check{}, false
}

// unsure is why it is not known whether several ranks share their requests.
func (p *Page) unsure(several string) string {
	switch {
	case p.stated == RanksUnsure:
		return "some of its ranks show the batches of several processes, and which of them live the page does not say"
	case p.together.found == RanksApart:
		return "attention is data parallel, and " + several + " are on the page: the others are on other machines"
	}
	return "its " + several + " show batches, and not yet whether of the same requests, as tensor-parallel ones do, or of their own: that takes some requests"
}

// together is what was seen of several ranks from page to page: apart is how much
// shows that each has a batch of its own.
type together struct {
	apart int
	was   float64
	found Ranks
}

// Evidence for one and the other. Tensor-parallel ranks take the same batch within
// the same iteration, so that a page seldom shows them on both sides of a change;
// ranks of their own seldom change from one batch to another alike.
const (
	differ, alike           = 4, 1
	surelyApart, surelyOnce = 12, -5
)

// see takes in the batches of one page.
func (t *together) see(batches []float64) {
	first, same := batches[0], true
	for _, v := range batches {
		if math.IsNaN(v) {
			return
		}
		same = same && v == first
	}
	switch {
	case !same:
		t.apart, first = min(t.apart+differ, surelyApart), -1
	case first > 0 && first != t.was:
		t.apart = max(t.apart-alike, surelyOnce)
	}
	t.was = first
	switch {
	case t.apart >= surelyApart:
		t.found = RanksApart
	case t.apart <= surelyOnce:
		t.found = RanksOne
	case t.found == 0:
		t.found = RanksUnsure
	}
}
