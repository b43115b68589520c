package top

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// detailView shows the details of one replica.
type detailView struct {
	key string
	// detail is the last answer, err the error of the next request.
	detail *web.Detail
	err    error
	offset int
	// atEnd is true while the end of a text that does not fit is shown, also when the text grows.
	atEnd bool
}

func (m *model) pressInDetail(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "esc", "backspace", "left", "h", "enter":
		m.detail = nil
	default:
		m.detail.atEnd = false
		m.detail.offset = max(m.detail.offset+steps(name, max(m.height-3, 1), 1<<30), 0)
	}
	return nil
}

func (m *model) detailScreen() []string {
	d := m.detail
	lines := wrapped(d.lines(m.width), m.width)
	available := max(m.height-1, 1)
	last := max(len(lines)-available, 0)
	if d.atEnd || d.offset > last {
		d.offset = last
	}
	d.atEnd = last > 0 && d.offset == last
	lines = lines[d.offset:min(d.offset+available, len(lines))]
	for len(lines) < available {
		lines = append(lines, "")
	}
	return append(lines, style(faint, "Esc back  ↑↓ scroll  q quit"))
}

// wrapped breaks lines that are too long, within words: an address that is cut cannot be copied at all.
func wrapped(lines []string, width int) (all []string) {
	for _, l := range lines {
		all = append(all, strings.Split(ansi.Hardwrap(l, max(width, 1), true), "\n")...)
	}
	return all
}

func (d *detailView) lines(width int) []string {
	if d.detail == nil {
		if d.err != nil {
			return coloredLines("broken", folded(d.err.Error(), width))
		}
		return []string{"Asking for " + Plain(d.key) + " …"}
	}
	t := &detailText{width: width}
	r := d.detail
	t.verdict(r, d.err)
	if len(r.Steps) > 0 {
		t.head("First checks")
	}
	for i, step := range r.Steps {
		t.text(strconv.Itoa(i+1)+". ", strings.ReplaceAll(step, "`", ""))
	}
	t.history(r)
	t.lists(r.Lists)
	t.head("Labels, and where each comes from")
	for _, l := range r.Labels {
		t.text(Fit(Plain(l.Name), 16, false)+" ", l.Value+" ("+l.From+")")
	}
	t.head("Commands to run yourself")
	for _, c := range r.Commands {
		t.text("", c.What+":")
		t.text("  ", c.Line)
	}
	return t.lines
}

// detailText collects lines, folded to a width.
type detailText struct {
	width int
	lines []string
}

func (t *detailText) head(text string) { t.lines = append(t.lines, "", style(bold, Plain(text))) }

// text adds text after front, unless text is empty.
func (t *detailText) text(front, text string) {
	if text != "" {
		t.lines = append(t.lines, Hang(front, text, t.width)...)
	}
}

func (t *detailText) verdict(r *web.Detail, err error) {
	t.lines = append(t.lines, style(bold, Plain(nameOf(&r.Replica, true)))+"  "+colored(r.Severity, Plain(r.Word)))
	t.text("", r.Reason)
	t.text("", r.Runbook)
	if err != nil {
		t.lines = append(t.lines, coloredLines("broken", folded(err.Error(), t.width))...)
	}
	t.text("scraped  ", r.Scraped)
	t.text("page     ", r.Page)
	t.lines = append(t.lines, "")
	for _, c := range columns() {
		t.text(Fit(strings.ToLower(c.head), 9, false), c.text(&r.Replica))
	}
}

func (t *detailText) history(r *web.Detail) {
	if f := r.Failure; f != nil {
		note := ""
		if f.Over {
			note = ", scrapes have succeeded since"
		}
		t.head("Last failed scrape, " + f.Time + note)
		t.text("", strings.TrimSpace(f.Reason+" "+f.Text))
	}
	if len(r.Changes) > 0 {
		t.head("States, newest first")
	}
	for _, c := range r.Changes {
		t.text(
			Plain(c.Time)+"  "+Fit(Plain(c.Word), stateWidth, false)+" "+Fit(Plain(c.Lasted), 7, false)+" ",
			c.Reason,
		)
	}
}

func (t *detailText) lists(lists []web.Checks) {
	for _, list := range lists {
		title := list.Title
		if list.Others != "" {
			title += "; " + list.Others
		}
		t.head(title)
		for _, c := range list.NotOK {
			text := c.Reason
			if c.Cure != "" {
				text += "; to change it: " + c.Cure
			}
			t.text(Fit(Plain(c.Name), 16, false)+" ", text)
		}
	}
}
