package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type column struct {
	// name is the value of --sort, empty if the table cannot be sorted by the column.
	name, head string
	width      int
	// priority decides which columns a narrow terminal shows: the lowest is dropped first.
	priority int
	right    bool
	text     func(r *web.Replica) string
}

// columns returns all columns except the state and the name of the replica.
func columns() []column {
	return []column{
		{"tokens", "TOK/S", 6, 9, true, func(r *web.Replica) string { return count(r.Tokens) }},
		{"waiting", "WAIT", 5, 8, true, func(r *web.Replica) string { return count(r.Waiting) }},
		{"running", "RUNNING", 8, 5, true, func(r *web.Replica) string { return compact(r.RunningText()) }},
		{"kv", "KV", 5, 6, true, func(r *web.Replica) string { return percent(r.Cache) }},
		{"first-token", "FIRST", 6, 4, true, func(r *web.Replica) string { return seconds(r.FirstToken) }},
		{"request", "REQUEST", 7, 3, true, func(r *web.Replica) string { return seconds(r.Duration) }},
		{"failed", "FAILED", 6, 7, true, func(r *web.Replica) string { return percent(r.Failed) }},
		{"", "SINCE", 6, 1, true, func(r *web.Replica) string { return compact(cmp.Or(r.For, web.NoValue)) }},
		{"", "VERSION", 14, 2, false, version},
	}
}

// version returns kind and version of the server, marked if most of the pool has another one.
func version(r *web.Replica) string {
	text := strings.TrimSpace(r.Engine + " " + cmp.Or(r.Version, web.NoValue))
	if r.TRTLLM != "" {
		text += " trtllm " + r.TRTLLM
	}
	if r.Differs {
		text = "≠ " + text
	}
	return text
}

// Orders that are not by a column.
const (
	worstFirst = "worst"
	byName     = "name"
)

// Orders returns the values of --sort, in the order in which the s key cycles through them.
func Orders() []string {
	orders := []string{worstFirst, byName}
	for _, c := range web.Columns() {
		orders = append(orders, c.Name)
	}
	return orders
}

// Choice selects and orders replicas.
type Choice struct {
	// Order is one of [Orders]; empty means the worst first.
	Order string
	// Text selects replicas that show it, ignoring case.
	Text string
	// Wrong selects replicas with a problem.
	Wrong bool
}

func (c *Choice) order() string { return cmp.Or(c.Order, worstFirst) }

// grouped reports whether rows are grouped by pool.
func (c *Choice) grouped() bool { return c.order() == worstFirst }

// apply returns the selected replicas in order. A fleet is sorted by severity, the worst first,
// then by name.
func (c *Choice) apply(fleet *web.Fleet) []web.Replica {
	word := strings.ToLower(c.Text)
	chosen := slices.DeleteFunc(slices.Clone(fleet.Replicas), func(r web.Replica) bool {
		return !contains(&r, word) || c.Wrong && r.Severity == "ok"
	})
	compare := web.Largest(c.order())
	switch c.order() {
	case byName:
		compare = func(a, b *web.Replica) int { return web.CompareNames(key(a), key(b)) }
	case worstFirst: // Within each pool, and the worst pool first.
		compare = func(a, b *web.Replica) int {
			return cmp.Compare(poolIndex(fleet.Pools, a.PoolID), poolIndex(fleet.Pools, b.PoolID))
		}
	}
	slices.SortStableFunc(chosen, func(a, b web.Replica) int { return compare(&a, &b) })
	return chosen
}

// contains reports whether a replica shows a lower-case word.
func contains(r *web.Replica, word string) bool {
	for _, text := range []string{
		key(r), nameOf(r, true), r.Word, r.State, r.Severity, r.Reason, r.Engine, r.Version, r.TRTLLM,
	} {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

func key(r *web.Replica) string { return r.PoolID + "/" + r.ReplicaID }

// poolIndex returns the index of a pool in the fleet.
func poolIndex(pools []web.Pool, id string) int {
	return slices.IndexFunc(pools, func(p web.Pool) bool { return p.PoolID == id })
}

// stateWidth is the width of the longest state, "canary failing".
const stateWidth = 14

// layout is the width of the name, which may include the pool, and the columns that fit next to
// it.
type layout struct {
	name     int
	withPool bool
	columns  []column
}

// layoutFor drops columns until the rest fits next to the longest name; width 0 means unlimited.
func layoutFor(width int, rows []web.Replica, withPool bool) layout {
	const minName = 12
	l := layout{name: minName, withPool: withPool, columns: columns()}
	for i := range rows {
		l.name = max(l.name, ansi.StringWidth(Plain(nameOf(&rows[i], withPool))))
	}
	for i := range l.columns {
		if c := &l.columns[i]; c.name == "running" { // What waits is beside what runs.
			for j := range rows {
				c.width = max(c.width, ansi.StringWidth(Plain(c.text(&rows[j]))))
			}
		}
	}
	if width == 0 {
		return l
	}
	longest := l.name
	l.name = min(l.name, max(width/3, minName))
	for l.width() > width && len(l.columns) > 0 {
		lowest := slices.MinFunc(
			l.columns,
			func(a, b column) int { return cmp.Compare(a.priority, b.priority) },
		).priority
		l.columns = slices.DeleteFunc(l.columns, func(c column) bool { return c.priority == lowest })
	}
	l.name = min(longest, l.name+max(width-l.width(), 0))
	return l
}

func (l *layout) width() int {
	sum := stateWidth + 1 + l.name
	for _, c := range l.columns {
		sum += 1 + c.width
	}
	return sum
}

// nameOf returns the name of a replica, which includes its pool if withPool.
func nameOf(r *web.Replica, withPool bool) string {
	if withPool {
		return r.PoolID + " / " + r.ReplicaID
	}
	return r.ReplicaID
}

func (l *layout) head(order string) string {
	cells := []string{Fit("STATE", stateWidth, false), Fit("REPLICA", l.name, false)}
	for _, c := range l.columns {
		text := c.head
		if c.name == order && order != "" {
			text += "↓"
		}
		cells = append(cells, c.fit(text))
	}
	return strings.Join(cells, " ")
}

// fit pads a cell to the width of the column, except the version, which is last.
func (c *column) fit(text string) string {
	if !c.right {
		return text
	}
	return Fit(text, c.width, true)
}

// row returns the line of a replica, with its state in color if styled.
func (l *layout) row(r *web.Replica, styled bool) string {
	state := Fit(Plain(r.Word), stateWidth, false)
	if styled {
		state = colored(r.Severity, state)
	}
	cells := []string{state, Fit(Plain(nameOf(r, l.withPool)), l.name, false)}
	for _, c := range l.columns {
		cells = append(cells, c.fit(Plain(c.text(r))))
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

// poolLine summarizes a pool, without unknown sums.
func poolLine(pools []web.Pool, id string) string {
	i := poolIndex(pools, id)
	if i < 0 {
		return Plain(id)
	}
	p := &pools[i]
	texts := []string{Plain(p.PoolID) + ": " + p.Tally}
	if text := p.TokensText(); text != web.NoValue {
		texts = append(texts, text+" tokens/s")
	}
	if text := p.WaitingText(); text != web.NoValue {
		texts = append(texts, text+" waiting")
	}
	for _, o := range p.Objectives {
		texts = append(texts, o.Text)
	}
	return strings.ReplaceAll(strings.Join(texts, " · "), "\u202f", "")
}
