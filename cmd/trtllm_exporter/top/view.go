package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// View draws the whole screen.
func (m *model) View() tea.View {
	lines := m.screen()
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "trtllm_exporter top"
	return v
}

// screen are the lines, as many as there is room for.
func (m *model) screen() []string {
	if m.detail != nil {
		return m.detailScreen()
	}
	lines := m.verdictLines()
	bottom := m.reasonLines()
	const least = 5
	if m.height-len(lines)-len(bottom) < least {
		bottom = nil // A low screen has the table, and no sentence under it.
	}
	room := max(m.height-len(lines)-len(bottom)-1, 1)
	lines = append(lines, m.tableLines(room)...)
	for len(lines) < m.height-len(bottom)-1 {
		lines = append(lines, "")
	}
	lines = append(append(lines, bottom...), m.keysLine())
	return lines[:min(len(lines), m.height)]
}

// verdictLines are what is said of the whole fleet, and of the exporter when it
// does not answer.
func (m *model) verdictLines() []string {
	if m.fleet == nil {
		lines := []string{style(bold, cmp.Or(m.opts.Guide, "Asking "+m.opts.Client.URL+" …"))}
		if m.failure != nil {
			lines = append(lines, toned("broken", folded(m.failure.Error(), m.width))...)
		}
		return lines
	}
	v := &m.fleet.Verdict
	lines := toned(v.Severity, folded(v.Said(), m.width))
	switch {
	case m.failure != nil:
		lines = append(lines, toned("broken", folded("No answer since "+m.last.Format("15:04:05")+", this is what was said then: "+m.failure.Error(), m.width))...)
	case v.Late:
		lines = append(lines, tone("look", Plain(v.Age)))
	default:
		lines = append(lines, style(faint, Plain(v.Age+" · "+m.opts.Client.URL+"/")))
	}
	for _, s := range m.fleet.Searches {
		lines = append(lines, toned("look", folded(s, m.width))...)
	}
	return lines
}

// toned gives lines a colour.
func toned(severity string, lines []string) []string {
	for i, l := range lines {
		lines[i] = tone(severity, l)
	}
	return lines
}

// tableLines are the rows around the cursor, under the lines of their pools.
func (m *model) tableLines(room int) []string {
	if m.fleet == nil {
		return nil
	}
	if len(m.rows) == 0 {
		what := "No replica is known."
		if m.choice.Wrong && m.choice.Text == "" {
			what = "Nothing is wrong. Key e shows all replicas."
		} else if len(m.fleet.Replicas) > 0 {
			what = "No replica matches. Key Esc shows all of them."
		}
		return []string{"", what}
	}
	l := layoutOf(m.width, m.rows, !m.grouped())
	var all []string
	at, pool := 0, ""
	for i := range m.rows {
		r := &m.rows[i]
		if m.grouped() && (i == 0 || r.PoolID != pool) {
			pool = r.PoolID
			all = append(all, style(bold, ansi.Truncate(m.poolOf(pool), m.width, "…")))
		}
		line := l.row(r, !m.grouped(), true)
		if key(r) == m.chosen {
			at = len(all)
			line = style(reverse, Fit(l.row(r, !m.grouped(), false), m.width, false))
		}
		all = append(all, line)
	}
	room = max(room-1, 1)
	m.from = scroll(m.from, at, room, len(all))
	end := min(m.from+room, len(all))
	if m.part = ""; end-m.from < len(all) {
		m.part = fmt.Sprintf("  %d-%d of %d", m.from+1, end, len(all))
	}
	return append([]string{style(faint, l.head(m.choice.Order))}, all[m.from:end]...)
}

// poolOf is the line of a pool.
func (m *model) poolOf(id string) string {
	if i := slices.IndexFunc(m.fleet.Pools, func(p web.Pool) bool { return p.PoolID == id }); i >= 0 {
		return poolLine(&m.fleet.Pools[i])
	}
	return Plain(id)
}

// scroll is the first line to show so that one of them is seen, with the one
// above it.
func scroll(from, at, room, total int) int {
	from = min(from, max(at-1, 0))
	from = max(from, at-room+1)
	return max(min(from, total-room), 0)
}

// reasonLines are what is wrong with the replica under the cursor.
func (m *model) reasonLines() (lines []string) {
	if i := m.place(); len(m.rows) > 0 {
		most := max(m.height/3, 3)
		r := &m.rows[i]
		text := folded(nameOf(r, true)+": "+r.Reason, m.width)
		if len(text) > most {
			text = append(text[:most-1], text[most-1]+" …")
		}
		if r.Severity != "ok" { // What is fine needs no colour.
			text = toned(r.Severity, text)
		}
		lines = append([]string{""}, text...)
	}
	return lines
}

// keysLine says what keys do, or what is being typed.
func (m *model) keysLine() string {
	if m.typing {
		return "/" + Plain(m.choice.Text) + style(reverse, " ") + style(faint, "  Enter takes it, Esc drops it")
	}
	var on []string
	if m.choice.Text != "" {
		on = append(on, "/"+Plain(m.choice.Text))
	}
	if m.choice.Wrong {
		on = append(on, "only what is wrong")
	}
	if len(on) == 0 {
		return style(faint, "Enter open  s sort: "+m.choice.order()+"  / filter  e only what is wrong  q quit"+m.part)
	}
	all := 0
	if m.fleet != nil {
		all = len(m.fleet.Replicas)
	}
	on = append(on, strconv.Itoa(len(m.rows))+" of "+strconv.Itoa(all))
	return style(bold, strings.Join(on, ", ")) + style(faint, "  Esc all  s sort: "+m.choice.order()+"  q quit")
}
