package web

import (
	"net/url"
	"slices"
	"strconv"
)

// filter is what a reader of the fleet wants to see of it.
type filter struct {
	// State is a state or a severity, Pool the name of a pool, Text a part of what
	// is known of a replica.
	State, Pool, Text string
	// From is the number of the first row.
	From int
}

// readFilter reads a query; what cannot be read counts as not asked for.
func readFilter(values url.Values) filter {
	f := filter{State: values.Get("state"), Pool: values.Get("pool"), Text: values.Get("q")}
	if from, err := strconv.Atoi(values.Get("from")); err == nil && from > 0 {
		f.From = from
	}
	return f
}

// Active reports whether less than the whole fleet is asked for.
func (f filter) Active() bool { return f.State != "" || f.Pool != "" || f.Text != "" }

// take is what the filter takes of all replicas.
func (f *filter) take(all []*replica) []*replica {
	if !f.Active() {
		return all
	}
	return slices.DeleteFunc(all, func(r *replica) bool { return !r.matches(f) })
}

// link is the address of a filter, relative to the page.
func (f filter) link() string {
	values := url.Values{}
	for name, value := range map[string]string{"state": f.State, "pool": f.Pool, "q": f.Text} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if f.From > 0 {
		values.Set("from", strconv.Itoa(f.From))
	}
	return "./?" + values.Encode()
}

// at is the address of another part of what the filter takes.
func (f filter) at(from int) string {
	f.From = from
	return f.link()
}
