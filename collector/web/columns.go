package web

import (
	"cmp"
	"math"
	"slices"
)

// Column is a number that replicas can be sorted by.
type Column struct {
	// Name is that in addresses and flags, Head the title.
	Name, Head string
	value      func(r *Replica) *float64
}

// Columns returns all columns in the order in which they are shown.
func Columns() []Column {
	return []Column{
		{"tokens", "Tokens/s", func(r *Replica) *float64 { return r.Tokens }},
		{"waiting", "Waiting", func(r *Replica) *float64 { return r.Waiting }},
		{"running", "Running", (*Replica).Occupied},
		{"kv", "KV cache", func(r *Replica) *float64 { return r.Cache }},
		{"first-token", "First token", func(r *Replica) *float64 { return r.FirstToken }},
		{"request", "Request", func(r *Replica) *float64 { return r.Duration }},
		{"failed", "Failed", func(r *Replica) *float64 { return r.Failed }},
	}
}

// Largest returns a comparison by a column, the largest number first and unknown ones last; nil
// if there is no such column.
func Largest(name string) func(a, b *Replica) int {
	all := Columns()
	i := slices.IndexFunc(all, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	lowest := math.Inf(-1)
	return func(a, b *Replica) int {
		return cmp.Compare(*cmp.Or(all[i].value(b), &lowest), *cmp.Or(all[i].value(a), &lowest))
	}
}
