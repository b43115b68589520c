package top

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// detailView is the closer look at one replica.
type detailView struct {
	key    string
	detail *web.Detail
	err    error
	from   int
}

// take keeps an answer; without one the last stays.
func (d *detailView) take(detail *web.Detail, err error) {
	if d.err = err; err == nil {
		d.detail = detail
	}
}

// pressInDetail does what a key means at one replica.
func (m *model) pressInDetail(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "esc", "backspace", "left", "h", "enter":
		m.detail = nil
	default:
		m.detail.from = max(m.detail.from+steps(name, max(m.height-3, 1), 1<<30), 0)
	}
	return nil
}

// detailScreen is all that is known of the replica, as much as there is room for.
func (m *model) detailScreen() []string {
	d := m.detail
	lines := d.lines(m.width)
	room := max(m.height-1, 1)
	d.from = max(min(d.from, len(lines)-room), 0)
	lines = lines[d.from:min(d.from+room, len(lines))]
	for len(lines) < room {
		lines = append(lines, "")
	}
	return append(lines, style(faint, "Esc back  ↑↓ scroll  q quit"))
}

// lines are the text, folded.
func (d *detailView) lines(width int) []string {
	if d.detail == nil {
		if d.err != nil {
			return toned("broken", folded(d.err.Error(), width))
		}
		return []string{"Asking for " + Plain(d.key) + " …"}
	}
	t := &page{width: width}
	r := d.detail
	t.verdict(r, d.err)
	if len(r.Steps) > 0 {
		t.head("First checks")
	}
	for i, step := range r.Steps {
		t.text(strconv.Itoa(i+1)+". ", step)
	}
	t.past(r)
	t.lists(r.Lists)
	t.head("Labels, and where each comes from")
	for _, l := range r.Labels {
		t.text(Fit(Plain(l.Name), 16, false)+" ", l.Value+" ("+l.From+")")
	}
	t.head("See for yourself")
	for _, c := range r.Commands {
		t.text("", c.What+":")
		t.text("  ", c.Line)
	}
	return t.lines
}

// page is text in the making.
type page struct {
	width int
	lines []string
}

// head begins a section.
func (p *page) head(text string) { p.lines = append(p.lines, "", style(bold, Plain(text))) }

// text writes a text, folded behind a front; nothing of an empty text.
func (p *page) text(front, text string) {
	if text != "" {
		p.lines = append(p.lines, Hang(front, text, p.width)...)
	}
}

// verdict writes what the replica is doing, and its numbers.
func (p *page) verdict(r *web.Detail, failed error) {
	p.lines = append(p.lines, style(bold, Plain(nameOf(&r.Replica, true)))+"  "+tone(r.Severity, Plain(r.Word)))
	p.text("", r.Reason)
	p.text("", r.Runbook)
	if failed != nil {
		p.lines = append(p.lines, toned("broken", folded(failed.Error(), p.width))...)
	}
	p.text("scraped  ", r.Scraped)
	p.text("page     ", r.Page)
	p.lines = append(p.lines, "")
	for _, c := range columns() {
		p.text(Fit(strings.ToLower(c.head), 9, false), c.text(&r.Replica))
	}
}

// past writes the last failure, and what the replica did before.
func (p *page) past(r *web.Detail) {
	if f := r.Failure; f != nil {
		over := ""
		if f.Over {
			over = ", scrapes have succeeded since"
		}
		p.head("Last error of a scrape, " + f.At + over)
		p.text("", strings.TrimSpace(f.Reason+" "+f.Text))
	}
	if len(r.Changes) > 0 {
		p.head("States, the newest first")
	}
	for _, c := range r.Changes {
		p.text(Plain(c.At)+"  "+Fit(Plain(c.Word), stateWidth, false)+" "+Fit(Plain(c.Lasted), 7, false)+" ", c.Reason)
	}
}

// lists writes the checks that are not met.
func (p *page) lists(lists []web.Checks) {
	for _, list := range lists {
		title := list.Title
		if list.Others != "" {
			title += "; " + list.Others
		}
		p.head(title)
		for _, c := range list.NotOK {
			text := c.Reason
			if c.Cure != "" {
				text += "; to change it: " + c.Cure
			}
			p.text(Fit(Plain(c.Name), 16, false)+" ", text)
		}
	}
}
