package engine

import "math"

// IterationStats is how servers of a kind hand out statistics of their
// iterations.
type IterationStats struct {
	// Path is asked for with GET; reading may take rows away from other readers.
	Path string
	// Read reads one answer: a row for each iteration and rank.
	Read func(text []byte) ([]Iteration, error)
	// Keeps is how many rows a server keeps for its readers; then it drops the
	// oldest.
	Keeps int
}

// Iteration is one iteration of an executor, of one rank where attention is
// data parallel.
type Iteration struct {
	Number uint64
	Rank   int64
	// Dropped counts the rows that the server itself lost so far.
	Dropped *uint64
	// Queued and Active are nil where the row does not say them.
	Queued, Active *float64
	// Generated tokens are estimated, Context ones were computed in prefill.
	Completed, Generated, Context float64

	// hash distinguishes rows of the same iteration and rank.
	hash uint64
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
// counters go on when the server restarts. Not safe for concurrent use.
type Iterations struct {
	sums    IterationSums
	started bool
	newest  uint64
	// dropped are the rows that the server lost by its own count, lost those of the
	// last answer.
	dropped, lost uint64
	// seen are the rows of the last iterations, by iteration and rank.
	seen map[rowKey]uint64
}

// rowKey is what distinguishes rows.
type rowKey struct {
	iteration uint64
	rank      int64
}

const (
	// rowsKept is for how many iterations rows are known again.
	rowsKept = 4096
	// late is by how much a row may come after newer ones, as ranks and
	// pipeline stages report apart; an older one is of a server that restarted.
	late = 64
)

// Add reads one answer and gives the sums so far. Complete says that all
// answers since the last Add arrived: holes after a lost answer are our own.
func (b *Iterations) Add(from *IterationStats, text []byte, complete bool) (IterationSums, error) {
	rows, err := from.Read(text)
	if err != nil {
		return b.sums, err
	}
	b.sums.Queued, b.sums.Active, b.sums.Foreign = nil, nil, false
	missing := b.sums.Missing
	b.lost = 0
	var newest *Iteration
	ranked := false
	for i := range rows {
		ranked = ranked || rows[i].Rank != 0
		if !b.fresh(&rows[i], i == 0 && len(rows) >= from.Keeps || !complete && i == 0) {
			continue
		}
		b.count(&rows[i])
		if rows[i].Rank == 0 && (newest == nil || rows[i].Number >= newest.Number) {
			newest = &rows[i]
		}
	}
	if newest != nil {
		b.sums.Queued, b.sums.Active = plain(newest.Queued), plain(newest.Active)
	}
	if ranked {
		b.sums.Active = nil // Rank 0 knows its own only.
	}
	// What the server says it dropped itself, nobody else took.
	if b.lost >= b.sums.Missing-missing {
		b.sums.Foreign = false
	}
	return b.sums, nil
}

// fresh says whether a row was not read before, and notes what is missing
// between it and the newest one. Excused holes are not another reader's.
func (b *Iterations) fresh(r *Iteration, excused bool) bool {
	at, key := r.Number, rowKey{r.Number, r.Rank}
	hash, again := b.seen[key]
	switch {
	case again && (hash == r.hash || at == b.newest):
		return false
	case b.started && (again || at+late < b.newest):
		b.started, b.dropped = false, 0
	}
	if r.Dropped != nil && *r.Dropped > b.dropped {
		if b.started {
			b.lost += *r.Dropped - b.dropped // What was lost before the first row left no hole.
		}
		b.dropped = *r.Dropped
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
func (b *Iterations) count(r *Iteration) {
	add := func(sum *float64, v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			*sum += v
		}
	}
	if r.Rank == 0 {
		b.sums.Iterations++
		add(&b.sums.Completed, r.Completed)
	}
	add(&b.sums.GeneratedTokens, r.Generated)
	add(&b.sums.ContextTokens, r.Context)
}

// plain is a count that makes sense, nil for others.
func plain(v *float64) *float64 {
	if v == nil || *v < 0 {
		return nil
	}
	return v
}
