package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

type filter struct {
	// State is a state or a severity, Pool the id of a pool, Text a part of what is shown of a
	// replica.
	State, Pool, Text string
	// Sort is the name of a column; the largest numbers come first.
	Sort string
	// From is the index of the first row.
	From int
}

// readFilter parses a query. A from that is no number counts as 0.
func readFilter(values url.Values) (filter, error) {
	f := filter{State: values.Get("state"), Pool: values.Get("pool"), Text: values.Get("q"), Sort: values.Get("sort")}
	if from, err := strconv.Atoi(values.Get("from")); err == nil && from > 0 {
		f.From = from
	}
	if f.State != "" && !slices.Contains(f.States(), f.State) {
		return f, fmt.Errorf("state: there is no %q; use %s", f.State, strings.Join(f.States(), ", "))
	}
	if f.Sort != "" && Largest(f.Sort) == nil {
		return f, fmt.Errorf("sort: there is no column %q", f.Sort)
	}
	return f, nil
}

func filtered(serve func(http.ResponseWriter, *http.Request, filter)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		f, err := readFilter(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		serve(w, r, f)
	}
}

// States returns the values of State: severities, then states.
func (filter) States() []string {
	words := severities()
	for _, s := range assess.States() {
		if !slices.Contains(words, string(s)) {
			words = append(words, string(s))
		}
	}
	return words
}

// Active reports whether the filter selects or sorts.
func (f filter) Active() bool { return f.State != "" || f.Pool != "" || f.Text != "" || f.Sort != "" }

func (f *filter) apply(all []*replica) []*replica {
	if !f.Active() {
		return all
	}
	return slices.DeleteFunc(all, func(r *replica) bool { return !r.matches(f) })
}

func (f *filter) sort(all []*replica) {
	if order := Largest(f.Sort); order != nil {
		slices.SortStableFunc(all, func(a, b *replica) int { return order(&a.Replica, &b.Replica) })
	}
}

func (f filter) link() string {
	values := url.Values{}
	for name, value := range map[string]string{"state": f.State, "pool": f.Pool, "q": f.Text, "sort": f.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if f.From > 0 {
		values.Set("from", strconv.Itoa(f.From))
	}
	return "?" + values.Encode()
}

// SortLink returns the query sorted by another column.
func (f filter) SortLink(column string) string {
	f.Sort, f.From = column, 0
	return f.link()
}

func (f filter) pageLink(from int) string {
	f.From = from
	return f.link()
}
