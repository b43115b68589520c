package top

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Once returns the fleet as text: the verdict, the problems, and a row for each replica. A width
// of 0 folds nothing, so that scripts can read it by lines.
func Once(fleet *web.Fleet, choice Choice, width int) string {
	var b strings.Builder
	write := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	write(folded(strings.TrimSpace(fleet.Verdict.Text()+" "+fleet.Verdict.Age), width)...)
	for _, s := range fleet.Searches {
		write(folded(s, width)...)
	}
	rows := choice.apply(fleet.Replicas)
	if problems := problemLines((&Choice{Text: choice.Text}).apply(fleet.Replicas), width); len(problems) > 0 {
		write("")
		write(problems...)
	}
	if choice.order() != worstFirst {
		l := layoutFor(width, rows, true)
		write("", l.head(choice.Order))
		write(l.rows(rows, true)...)
		return b.String()
	}
	l := layoutFor(width, rows, false)
	for i := range fleet.Pools {
		if pool := ofPool(rows, fleet.Pools[i].PoolID); len(pool) > 0 {
			write("")
			write(folded(poolLine(&fleet.Pools[i]), width)...)
			write(l.head(""))
			write(l.rows(pool, false)...)
		}
	}
	return b.String()
}

// rows returns a line for each replica, with the pool in its name if withPool.
func (l *layout) rows(replicas []web.Replica, withPool bool) []string {
	lines := make([]string, len(replicas))
	for i := range replicas {
		lines[i] = l.row(&replicas[i], withPool, false)
	}
	return lines
}

func ofPool(rows []web.Replica, pool string) []web.Replica {
	return slices.DeleteFunc(slices.Clone(rows), func(r web.Replica) bool { return r.PoolID != pool })
}

// problemLines describes each replica with a problem, and where the runbook is.
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
