package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// column is one of the table.
type column struct {
	// Name is that of --sort; empty where nothing can be sorted by it.
	name, head string
	width      int
	// keep is how long the column stays when the terminal gets narrow: the least
	// goes first.
	keep  int
	right bool
	text  func(r *web.Replica) string
}

// columns are all of the table, but for the name of the replica.
func columns() []column {
	return []column{
		{"tokens", "TOK/S", 6, 9, true, func(r *web.Replica) string { return count(r.Tokens) }},
		{"waiting", "WAIT", 5, 8, true, func(r *web.Replica) string { return count(r.Waiting) }},
		{"running", "RUNNING", 8, 5, true, func(r *web.Replica) string { return of(r.Held(), r.Limit) }},
		{"kv", "KV", 5, 6, true, func(r *web.Replica) string { return percent(r.Cache) }},
		{"first-token", "FIRST", 6, 4, true, func(r *web.Replica) string { return seconds(r.FirstToken) }},
		{"request", "REQUEST", 7, 3, true, func(r *web.Replica) string { return seconds(r.Duration) }},
		{"failed", "FAILED", 6, 7, true, func(r *web.Replica) string { return percent(r.Failed) }},
		{"", "SINCE", 6, 1, true, func(r *web.Replica) string { return tight(cmp.Or(r.For, web.Nothing)) }},
		{"", "VERSION", 14, 2, false, version},
	}
}

// version is the kind and the version of the server; one that most of the pool does not
// have is marked.
func version(r *web.Replica) string {
	text := strings.TrimSpace(r.Engine + " " + cmp.Or(r.Version, web.Nothing))
	if r.TRTLLM != "" {
		text += " trtllm " + r.TRTLLM
	}
	if r.Differs {
		text = "≠ " + text
	}
	return text
}

// The orders that are not by a number.
const (
	worstFirst = "worst"
	byName     = "name"
)

// Orders are what --sort takes, in the order in which a key goes through them.
func Orders() []string {
	orders := []string{worstFirst, byName}
	for _, c := range web.Columns() {
		orders = append(orders, c.Name)
	}
	return orders
}

// Choice is what is wanted of a fleet.
type Choice struct {
	// Order is one of [Orders]; empty is the worst first.
	Order string
	// Text is a part of what is known of a replica, in any case.
	Text string
	// Wrong leaves out replicas with which nothing is wrong.
	Wrong bool
}

// order is the one that is wanted.
func (c *Choice) order() string { return cmp.Or(c.Order, worstFirst) }

// take are the replicas that are wanted, in their order. A fleet comes in the
// order of the page: the worst first, and by name what is as bad.
func (c *Choice) take(all []web.Replica) []web.Replica {
	var taken []web.Replica
	word := strings.ToLower(c.Text)
	for i := range all {
		r := &all[i]
		if c.Wrong && r.Severity == "ok" || !contains(r, word) {
			continue
		}
		taken = append(taken, *r)
	}
	compare := web.Largest(c.order())
	if c.Order == byName {
		compare = func(a, b *web.Replica) int { return web.CompareNames(key(a), key(b)) }
	}
	if compare != nil {
		slices.SortStableFunc(taken, func(a, b web.Replica) int { return compare(&a, &b) })
	}
	return taken
}

// contains reports whether a word in lower case is in what is known of a replica.
func contains(r *web.Replica, word string) bool {
	for _, text := range []string{key(r), r.PoolID + " / " + r.ReplicaID, r.Word, r.State, r.Severity, r.Reason, r.Engine, r.Version, r.TRTLLM} {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

// key names a replica as the exporter's paths do.
func key(r *web.Replica) string { return r.PoolID + "/" + r.ReplicaID }

// stateWidth is that of the longest word, "canary failing".
const stateWidth = 14

// layout is which columns fit a width, and how wide the name is.
type layout struct {
	name    int
	columns []column
}

// layoutOf leaves out columns until the rest fits next to the longest name; 0 is
// as wide as it gets.
func layoutOf(width int, rows []web.Replica, whole bool) layout {
	const leastName = 12
	l := layout{columns: columns(), name: leastName}
	for i := range rows {
		l.name = max(l.name, ansi.StringWidth(Plain(nameOf(&rows[i], whole))))
		if last := &l.columns[len(l.columns)-1]; width == 0 || width >= 110 {
			last.width = max(last.width, ansi.StringWidth(Plain(version(&rows[i]))))
		}
	}
	if width == 0 {
		return l
	}
	wanted := l.name
	l.name = min(l.name, max(width/3, leastName))
	for l.width() > width && len(l.columns) > 0 {
		least := slices.IndexFunc(l.columns, func(c column) bool {
			return !slices.ContainsFunc(l.columns, func(o column) bool { return o.keep < c.keep })
		})
		l.columns = slices.Delete(l.columns, least, least+1)
	}
	l.name = min(wanted, l.name+max(width-l.width(), 0))
	return l
}

// width is that of a whole row.
func (l *layout) width() int {
	sum := stateWidth + 1 + l.name
	for _, c := range l.columns {
		sum += 1 + c.width
	}
	return sum
}

// nameOf is how a replica is named: with its pool where rows of several pools are
// among each other.
func nameOf(r *web.Replica, whole bool) string {
	if whole {
		return r.PoolID + " / " + r.ReplicaID
	}
	return r.ReplicaID
}

// head is the line above the rows; order is marked.
func (l *layout) head(order string) string {
	cells := []string{Fit("STATE", stateWidth, false), Fit("REPLICA", l.name, false)}
	for _, c := range l.columns {
		text := c.head
		if c.name == order && order != "" {
			text += "↓"
		}
		cells = append(cells, Fit(text, c.width, c.right))
	}
	return strings.Join(cells, " ")
}

// row is a line of a replica; styled has colours.
func (l *layout) row(r *web.Replica, whole, styled bool) string {
	state := Fit(Plain(r.Word), stateWidth, false)
	if styled {
		state = tone(r.Severity, state)
	}
	cells := []string{state, Fit(Plain(nameOf(r, whole)), l.name, false)}
	for _, c := range l.columns {
		cells = append(cells, Fit(Plain(c.text(r)), c.width, c.right))
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

// poolLine sums a pool up.
func poolLine(p *web.Pool) string {
	partly := ""
	if p.Partly {
		partly = "≥ "
	}
	line := Plain(p.PoolID) + ": " + p.Tally
	said := func(sum *float64) bool { return sum != nil && (*sum > 0 || !p.Partly) } // At least nothing is no news.
	if said(p.Tokens) {
		line += " · " + partly + count(p.Tokens) + " tokens/s"
	}
	if said(p.Waiting) {
		line += " · " + partly + count(p.Waiting) + " waiting"
	}
	return line
}
