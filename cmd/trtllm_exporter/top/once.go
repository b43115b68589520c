package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Once returns the fleet as text: the verdict, the problems, and a row for each replica. With
// width 0 nothing is folded, so that scripts can read it line by line.
func Once(fleet *web.Fleet, choice Choice, width int) string {
	var b strings.Builder
	write := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	write(folded(strings.TrimSpace(fleet.Summary.Text()+" "+fleet.Summary.Age), width)...)
	for _, s := range fleet.Searches {
		write(folded(s, width)...)
	}
	rows := choice.apply(fleet)
	if problems := problemLines((&Choice{Text: choice.Text}).apply(fleet), width); len(problems) > 0 {
		write("")
		write(problems...)
	}
	grouped := choice.grouped()
	l := layoutFor(width, rows, !grouped)
	if !grouped {
		write("", l.head(choice.Order))
	}
	for i := range rows {
		if grouped && (i == 0 || rows[i].PoolID != rows[i-1].PoolID) {
			write("")
			write(folded(poolLine(fleet.Pools, rows[i].PoolID), width)...)
			write(l.head(""))
		}
		line := l.row(&rows[i], false)
		if width > 0 {
			line = ansi.Truncate(line, width, "…")
		}
		write(line)
	}
	return b.String()
}

// problemLines describes each replica with a problem, with the link to the runbook.
func problemLines(rows []web.Replica, width int) []string {
	var lines []string
	for i := range rows {
		r := &rows[i]
		if r.Severity == "ok" || r.Severity == "unknown" {
			continue
		}
		lines = append(lines, folded(r.Word+": "+nameOf(r, true), width)...)
		lines = append(lines, Hang("  ", r.Reason, width)...)
		if r.Runbook != "" {
			lines = append(lines, "  "+r.Runbook)
		}
	}
	return lines
}
