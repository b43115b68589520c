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

// Ranks says whether the ranks of an engine show batches of the same requests.
type Ranks uint8

const (
	// RanksUnseen means that no rank shows its batch, or that pipeline stages show microbatches.
	RanksUnseen Ranks = iota + 1
	// RanksOne means that one rank shows its batch, or that tensor-parallel ranks show the same
	// batch.
	RanksOne
	// RanksUnsure means that several ranks show batches that may be the same.
	RanksUnsure
	// RanksApart means that attention is data parallel: each rank has requests of its own.
	RanksApart
	// RanksOverwrite means that ranks with requests of their own write gauges which do not name them: each
	// shows what one of them wrote last.
	RanksOverwrite
	// RanksAdd means the same, but that gauges show the sum where that is what they mean.
	RanksAdd
)

// serveBatch is the suffix of the gauge with the batch size of a rank, labelRank its label.
const serveBatch, labelRank = "scheduled_batch_size", "rank"

// rankSet holds the ranks that show batches on a page.
type rankSet struct {
	// batches holds the indexes of their series, firstRank the label of the first one, endings those
	// of the series that count ended requests.
	batches   []int
	firstRank string
	endings   []int
	// stated is what the labels alone prove, 0 if nothing.
	stated Ranks
	// complete is false if ranks of other machines are missing.
	complete bool
	ranks    Ranks
}

// readRanks finds the ranks that show a batch. Several ranks alone prove nothing: tensor-parallel
// ranks show the same requests, and pipeline ranks a microbatch each (TensorRT-LLM,
// examples/serve/README.md and metrics/batch_metrics.py). If a rank has several processes, it is
// unknown which of them is alive.
func readRanks(index Index, all []labels.Labels) rankSet {
	var r rankSet
	tensor, pipeline := 0, 0
	seen, repeated := make(map[string]bool), false
	for i, lset := range all {
		for _, m := range index[lset.Get(model.MetricNameLabel)] {
			switch m.Signal { //nolint:exhaustive // The others do not depend on ranks.
			case ParallelConfig:
				tensor, _ = strconv.Atoi(lset.Get("tensor_parallel_size"))
				pipeline, _ = strconv.Atoi(lset.Get("pipeline_parallel_size"))
			case IterationBatch:
				rank := lset.Get(labelRank)
				repeated = repeated || seen[rank]
				if seen[rank] = true; r.firstRank == "" || rank < r.firstRank {
					r.firstRank = rank
				}
				r.batches = append(r.batches, i)
			case RequestsFinished, RequestsFailed:
				r.endings = append(r.endings, i)
			}
		}
	}
	r.complete = tensor == 0 || tensor == len(seen)
	switch {
	case len(seen) == 0 || pipeline > 1:
		r.stated = RanksUnseen
	case len(seen) == 1:
		r.stated = RanksOne
	case repeated:
		r.stated = RanksUnsure
	}
	return r
}

// resolve sets ranks to what the labels prove, or else to the result of comparing batches.
func (r *rankSet) resolve(compared Ranks) {
	switch {
	case compared == RanksOverwrite || compared == RanksAdd:
		r.ranks = compared
	case r.stated != 0:
		r.ranks = r.stated
	case compared == RanksApart && !r.complete:
		r.ranks = RanksUnsure
	default:
		r.ranks = compared
	}
}

// allows reports whether a meaning applies to a series with such ranks. Running requests are read
// from the batches if ranks show them: the newest of the first rank if all are the same, the sum
// if each rank has its own, and otherwise only whether there are any.
func (r *rankSet) allows(m *Meaning, lset labels.Labels) bool {
	batch := strings.HasSuffix(m.Name, serveBatch)
	gauge := m.Signal.Type().Form == Single && !m.Signal.Type().Counter
	nameless := gauge && m.Rank != "" && lset.Get(m.Rank) == ""
	switch {
	case r.ranks == RanksOverwrite:
		return !nameless
	case r.ranks == RanksAdd:
		return !nameless || m.Combine == Sum
	case r.ranks == RanksUnseen:
		return !batch || m.Signal == IterationBatch
	case m.Signal == EngineRanks:
		return r.ranks == RanksApart
	case m.Signal == RequestsRunning && !batch:
		return false
	case m.Signal == RequestsRunning && m.Combine == Newest:
		return r.ranks == RanksOne && lset.Get(labelRank) == r.firstRank
	case m.Signal == RequestsRunning:
		return r.ranks == map[Combine]Ranks{ZeroOnly: RanksUnsure, Sum: RanksApart}[m.Combine]
	}
	// These show only one rank if attention is data parallel.
	return r.ranks == RanksOne || !slices.Contains([]Signal{
		RequestsActive,
		RequestsWaiting,
		RequestsPrefill, RequestsDecode, RequestsPaused, RequestsLimit, ContextTokens, PrefillOccupancy,
		BatchLimit, BatchTokensLimit, KVBlocksLimit, KVBlocksUsed, KVBlocksFree,
	}, m.Signal)
}

// hides reports whether ranks overwrite each other's values of a signal, so that it is not read.
func (p *Page) hides(s Signal) bool {
	return p != nil && (p.ranks == RanksOverwrite || p.ranks == RanksAdd) && !p.Has(s)
}

// judgeRanks judges the capabilities that depend on whether ranks share requests, false for others;
// read is true if iterations are read.
func (p *Page) judgeRanks(name string, read bool) (target.Check, bool) {
	const elsewhere = "llm_server_iteration_stats_queued_requests"
	several := strconv.Itoa(len(p.batches)) + " ranks"
	queued, running, cache := name == CanQueue, name == CanRunning, name == CanKVCache && p.Has(KVUtilization)
	switch {
	case p.ranks == RanksUnsure && (queued || running):
		return no(p.unsureReason(several), p.unsureCure(read)), true
	case p.ranks == RanksApart && queued:
		reason := "attention is data parallel over " + several + ": num_requests_waiting is the last one's, and " +
			"requests wait at the first"
		if read {
			return no(reason+", as "+elsewhere+" shows", ""), true
		}
		return no(reason, "iteration_stats: true in the pool, then "+elsewhere), true
	case p.ranks == RanksApart && running:
		return yes("the batches of " + several + " together, each of which has requests of its own"), true
	case p.ranks == RanksApart && cache:
		return yes("kv_cache_utilization, which is that of one of " + several), true
	case p.ranks == RanksOne && running:
		return yes("scheduled_batch_size, the batch of the latest iteration, 0 when idle"), true
	}
	return target.Check{}, false
}

// unsureReason explains why it is unknown whether ranks share their requests.
func (p *Page) unsureReason(several string) string {
	switch {
	case p.stated == RanksUnsure:
		return "some of its ranks show the batches of several processes, and the page does not show which of " +
			"them are alive"
	case p.comparison.result == RanksApart:
		return "attention is data parallel, and " + several + " are on the page: the others are on other machines"
	}
	return "its " + several + " show batches, and nothing tells whether they share requests, as " +
		"tensor-parallel ranks do, or have their own"
}

// unsureCure returns what settles it, if iterations are not read yet.
func (p *Page) unsureCure(read bool) string {
	if read || p.stated == RanksUnsure || p.comparison.result == RanksApart {
		return ""
	}
	return cureReadStats
}

// LearnRanks takes what iterations or facts tell about the ranks, 0 if nothing, and reports whether that is new.
func (p *Page) LearnRanks(told Ranks) bool {
	if told == 0 || told == p.comparison.result && p.comparison.told {
		return false
	}
	p.comparison.result, p.comparison.told = told, true
	p.readContent()
	return true
}

// RanksBy says how pages show ranks according to facts, 0 if these do not tell.
func (k *Kind) RanksBy(f *Facts) Ranks {
	if k.ranks == nil || f == nil {
		return 0
	}
	return k.ranks(f)
}

// rankComparison finds out whether ranks share requests. Iterations tell, where they are read. Otherwise
// equal batches prove nothing, since balanced ranks with requests of their own show them too. Different
// ones that stay while requests end are those of such ranks: tensor-parallel ranks differ for a moment
// within one iteration, and while they hang there.
type rankComparison struct {
	result Ranks
	// told is true if iterations or facts told the result.
	told     bool
	previous []float64
	// ended is how many requests had ended by the previous page.
	ended float64
}

func newRankComparison() rankComparison { return rankComparison{result: RanksUnsure} }

// add adds a page: the batches of the ranks, and how many requests have ended.
func (c *rankComparison) add(batches []float64, ended float64) {
	if c.told || slices.ContainsFunc(batches, math.IsNaN) {
		return
	}
	differ := slices.Min(batches) != slices.Max(batches)
	if differ && ended > c.ended && slices.Equal(batches, c.previous) {
		c.result = RanksApart
	}
	c.previous, c.ended = batches, ended
}
