package web

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// selfTarget selects the exporter's own series; no replica has that key, for
// keys hold a slash.
const selfTarget = "self"

// query says which part of the page a request asks for. Its lists are sorted
// and without repetition.
type query struct {
	targets, pools, names []string
}

// readQuery reads target, pool_id and name[]; other parameters mean nothing.
func readQuery(values url.Values) query {
	return query{
		targets: tidy(values["target"]),
		pools:   tidy(values["pool_id"]),
		names:   tidy(values["name[]"]),
	}
}

// tidy sorts a copy of a list and takes repetitions out.
func tidy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// key is equal for queries that mean the same.
func (q *query) key() string {
	return fmt.Sprintf("%q", [][]string{q.targets, q.pools, q.names})
}

// whole reports whether every replica is asked for.
func (q *query) whole() bool { return len(q.targets) == 0 && len(q.pools) == 0 }

// all reports whether the whole page is asked for.
func (q *query) all() bool { return q.whole() && len(q.names) == 0 }

// own reports whether the exporter's own series are asked for. A page of one
// replica or pool leaves them out, for they would be on every such page.
func (q *query) own() bool { return q.whole() || slices.Contains(q.targets, selfTarget) }

// filter takes the replicas asked for; nil takes all.
func (q *query) filter() func(*target.Target) bool {
	if q.whole() {
		return nil
	}
	return func(t *target.Target) bool {
		return (len(q.targets) == 0 || contains(q.targets, t.Key())) &&
			(len(q.pools) == 0 || contains(q.pools, t.PoolID))
	}
}

// only takes the families asked for; nil takes all.
func (q *query) only() func(name string) bool {
	if len(q.names) == 0 {
		return nil
	}
	return func(name string) bool { return contains(q.names, name) }
}

// unknown is the first replica asked for that the store does not have; false when
// it has all.
func (q *query) unknown(store *snapshot.Store) (key string, some bool) {
	missing := slices.DeleteFunc(slices.Clone(q.targets), func(t string) bool { return t == selfTarget })
	for _, slot := range store.Slots() {
		if len(missing) == 0 {
			return "", false
		}
		if at, ok := slices.BinarySearch(missing, slot.Target().Key()); ok {
			missing = slices.Delete(missing, at, at+1)
		}
	}
	if len(missing) == 0 {
		return "", false
	}
	return missing[0], true
}

// unknownPool is the first pool asked for that is neither configured nor has a
// replica; false when all are there. A pool without replicas is known: it
// may have some again.
func (q *query) unknownPool(store *snapshot.Store, configured func() []string) (id string, some bool) {
	if len(q.pools) == 0 {
		return "", false
	}
	known := configured()
	for _, slot := range store.Slots() {
		known = append(known, slot.Target().PoolID)
	}
	if at := slices.IndexFunc(q.pools, func(id string) bool { return !slices.Contains(known, id) }); at >= 0 {
		return q.pools[at], true
	}
	return "", false
}

// contains searches a sorted list.
func contains(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}
