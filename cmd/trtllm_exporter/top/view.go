package top

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View implements tea.Model: it returns the complete screen.
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

func (m *model) screen() []string {
	switch {
	case m.help:
		return m.helpScreen()
	case m.detail != nil:
		return m.detailScreen()
	}
	lines := m.verdictLines()
	bottom := m.reasonLines()
	const minTable = 5
	if m.height-len(lines)-len(bottom) < minTable {
		bottom = nil
	}
	lines = append(lines, m.tableLines(max(m.height-len(lines)-len(bottom)-1, 1))...)
	for len(lines) < m.height-len(bottom)-1 {
		lines = append(lines, "")
	}
	lines = append(append(lines, bottom...), m.keysLine())
	return lines[:min(len(lines), m.height)]
}

func (m *model) verdictLines() []string {
	if m.fleet == nil {
		lines := []string{style(bold, cmp.Or(m.opts.Connecting, "Asking "+m.opts.Client.URL+" …"))}
		if m.err != nil {
			lines = append(lines, coloredLines("broken", folded(m.err.Error(), m.width))...)
		}
		return lines
	}
	v := &m.fleet.Summary
	lines := coloredLines(v.Severity, folded(v.Text(), m.width))
	switch {
	case m.err != nil:
		stale := "No answer since " + m.answered.Format("15:04:05") + ", showing the last one: " + m.err.Error()
		lines = append(lines, coloredLines("broken", folded(stale, m.width))...)
	case v.Late:
		lines = append(lines, colored("look", Plain(v.Age)))
	default:
		lines = append(lines, style(faint, Plain(v.Age+" · "+m.opts.Client.URL+"/")))
	}
	for _, s := range m.fleet.Searches {
		lines = append(lines, coloredLines("look", folded(s, m.width))...)
	}
	return lines
}

// tableLines returns the rows around the cursor, grouped by pool in the order of the fleet.
func (m *model) tableLines(available int) []string {
	if m.fleet == nil {
		return nil
	}
	if len(m.rows) == 0 {
		return []string{"", m.emptyText()}
	}
	grouped := m.choice.grouped()
	l := layoutFor(m.width, m.rows, !grouped)
	var all []string
	cursor := 0
	for i := range m.rows {
		r := &m.rows[i]
		if grouped && (i == 0 || r.PoolID != m.rows[i-1].PoolID) {
			all = append(all, style(bold, ansi.Truncate(poolLine(m.fleet.Pools, r.PoolID), m.width, "…")))
		}
		if key(r) == m.selected {
			cursor = len(all)
			all = append(all, style(reverse, Fit(l.row(r, false), m.width, false)))
		} else {
			all = append(all, l.row(r, true))
		}
	}
	available = max(available-1, 1)
	m.offset = scroll(m.offset, cursor, available, len(all))
	end := min(m.offset+available, len(all))
	if m.position = ""; end-m.offset < len(all) {
		m.position = fmt.Sprintf("  %d-%d of %d", m.offset+1, end, len(all))
	}
	return append([]string{style(faint, l.head(m.choice.Order))}, all[m.offset:end]...)
}

func (m *model) emptyText() string {
	switch {
	case m.choice.Wrong && m.choice.Text == "":
		return "No replica has a problem. Press e to show all of them."
	case len(m.fleet.Replicas) > 0:
		return "No replica matches. Press Esc to show all of them."
	}
	return "There are no replicas."
}

// scroll returns the first line to show so that the cursor and the line above it are visible.
func scroll(offset, cursor, available, total int) int {
	offset = min(offset, max(cursor-1, 0))
	offset = max(offset, cursor-available+1)
	return max(min(offset, total-available), 0)
}

func (m *model) reasonLines() []string {
	if len(m.rows) == 0 {
		return nil
	}
	maxLines := max(m.height/3, 3)
	r := &m.rows[m.cursor()]
	text := folded(nameOf(r, true)+": "+r.Reason, m.width)
	if len(text) > maxLines {
		text = append(text[:maxLines-1], text[maxLines-1]+" …")
	}
	if r.Severity != "ok" {
		text = coloredLines(r.Severity, text)
	}
	return append([]string{""}, text...)
}

func (m *model) keysLine() string {
	if m.typing {
		return "/" + Plain(m.choice.Text) + style(reverse, " ") + style(faint, "  Enter applies it, Esc clears it")
	}
	var active []string
	if m.choice.Text != "" {
		active = append(active, "/"+Plain(m.choice.Text))
	}
	if m.choice.Wrong {
		active = append(active, "only problems")
	}
	if len(active) == 0 {
		return style(faint, "Enter open  s sort: "+m.choice.order()+"  / filter  e only problems  ? help  q quit"+m.position)
	}
	if m.fleet != nil {
		active = append(active, strconv.Itoa(len(m.rows))+" of "+strconv.Itoa(len(m.fleet.Replicas)))
	}
	return style(bold, strings.Join(active, ", ")) + style(faint, "  Esc all  s sort: "+m.choice.order()+"  q quit")
}
