package web

import (
	"cmp"
	"math"
	"slices"
)

// Column is a number of replicas by which they can be sorted.
type Column struct {
	// Name is what addresses and flags call it, Head what is over it.
	Name, Head string
	value      func(r *Replica) *float64
}

// Columns are all of them, in the order in which they are shown.
func Columns() []Column {
	return []Column{
		{"tokens", "Tokens/s", func(r *Replica) *float64 { return r.Tokens }},
		{"waiting", "Waiting", func(r *Replica) *float64 { return r.Waiting }},
		{"running", "Running", (*Replica).Held},
		{"kv", "KV cache", func(r *Replica) *float64 { return r.Cache }},
		{"first-token", "First token", func(r *Replica) *float64 { return r.FirstToken }},
		{"request", "Request", func(r *Replica) *float64 { return r.Duration }},
		{"failed", "Failed", func(r *Replica) *float64 { return r.Failed }},
	}
}

// Largest compares replicas by the column of that name: the largest number first, and
// what is not known last. It is nil where no column has the name.
func Largest(name string) func(a, b *Replica) int {
	all := Columns()
	at := slices.IndexFunc(all, func(c Column) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	least := math.Inf(-1)
	return func(a, b *Replica) int {
		return cmp.Compare(*cmp.Or(all[at].value(b), &least), *cmp.Or(all[at].value(a), &least))
	}
}
