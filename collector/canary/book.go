package canary

import (
	"maps"
	"slices"
)

// compared is how many of the last answers have to be alike.
const compared = 10

// Book keeps what the requests to one replica have shown. It is not safe for
// concurrent use; its summaries are.
type Book struct {
	counts   map[Result]uint64
	changes  uint64
	identity string
	outputs  []string
}

// Summary is what the requests to one replica have shown up to one of them.
type Summary struct {
	// Last is the last report.
	Last Report
	// Counts are the requests by result.
	Counts map[Result]uint64
	// Changes are the good answers that differed from the one before, of the
	// same identity.
	Changes uint64
	// Answers are how many good answers of this identity are compared, at most
	// ten; Alike is true when they are all the same.
	Answers int
	Alike   bool
}

// Differs says whether a good answer is another than the one before.
func (b *Book) Differs(r Report) bool {
	n := len(b.outputs)
	return r.Result == OK && n > 0 && b.outputs[n-1] != r.Output
}

// Enter takes a report in. Answers are compared while the identity, which says
// what server with what model was asked, stays the same; only good ones are.
func (b *Book) Enter(r Report, identity string) *Summary {
	if b.counts == nil {
		b.counts = make(map[Result]uint64)
	}
	b.counts[r.Result]++
	if identity != b.identity {
		b.identity, b.outputs = identity, nil
	}
	if r.Result == OK {
		if b.Differs(r) {
			b.changes++
		}
		b.outputs = append(b.outputs, r.Output)
		b.outputs = b.outputs[max(0, len(b.outputs)-compared):]
	}
	return &Summary{
		Last: r, Counts: maps.Clone(b.counts), Changes: b.changes,
		Answers: len(b.outputs), Alike: len(slices.Compact(slices.Clone(b.outputs))) <= 1,
	}
}
