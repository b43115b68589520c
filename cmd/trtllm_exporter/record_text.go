package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/account"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// accountText returns an account for people, folded to a width.
func accountText(a *account.Account, width int) string {
	p := &textTable{width: width}
	p.line(fmt.Sprintf("%s from %s to %s: %s", servers(a),
		a.From.Local().Format(time.TimeOnly), a.To.Local().Format(time.TimeOnly), length(a)))
	for i := range a.Replicas {
		writeReplica(p, &a.Replicas[i])
	}
	for i := range a.Interrupted {
		n := &a.Interrupted[i]
		p.line(fmt.Sprintf("! %s/%s, %s to %s: %s", n.PoolID, n.ReplicaID, n.From.Local().Format(time.TimeOnly),
			n.To.Local().Format(time.TimeOnly), n.Reason))
	}
	for i := range a.Models {
		m := &a.Models[i]
		p.line("")
		p.line(m.PoolID + ", model " + m.ModelID)
		f := m.Figures
		if len(a.Models) == 1 { // The sum has the energy, too.
			f = a.Sum
		}
		writeFigures(p, &f)
	}
	if len(a.Models) != 1 {
		p.line("")
		p.line("Sum")
		writeFigures(p, &a.Sum)
	}
	return p.String()
}

// servers returns how many were read, and of how many.
func servers(a *account.Account) string {
	unread := 0
	for i := range a.Replicas {
		if a.Replicas[i].Pages == 0 {
			unread++
		}
	}
	all := count(len(a.Replicas), "server")
	if unread == 0 {
		return all
	}
	return fmt.Sprintf("%d of %s", len(a.Replicas)-unread, all)
}

// length returns how long the stretch was.
func length(a *account.Account) string {
	switch {
	case a.Empty != "":
		return a.Empty
	case a.Idle > 0:
		return duration(a.Seconds) + ", up to " + duration(a.Idle) + " of it before the first and after the last request"
	}
	return duration(a.Seconds)
}

func writeReplica(p *textTable, r *account.Replica) {
	about := []string{strings.TrimSuffix(r.Engine+" "+r.Version, " unknown"), r.Tier, r.State, count(r.Pages, "page")}
	if r.Failed > 0 {
		about = append(about, count(r.Failed, "scrape")+" failed")
	}
	about = slices.DeleteFunc(about, func(s string) bool { return strings.TrimSpace(s) == "" })
	p.row("  "+r.Name(), strings.Join(about, ", "))
}

// writeFigures writes a line for each figure, and one for each reason why others are absent.
func writeFigures(p *textTable, f *account.Figures) {
	p.row("  requests", atLeast(f, classes(f.Requests)), aSecond(f.RequestSpeed))
	p.row("  prompt tokens", atLeast(f, wholeNumber(f.Prompt)), aSecond(f.PromptSpeed))
	p.row("  generated tokens", atLeast(f, wholeNumber(f.Generated)), aSecond(f.GenerationSpeed))
	for _, l := range []struct {
		name  string
		level *account.Level
		text  func(float64) string
		note  string
	}{
		{"running", f.Running, decimal, ""},
		{"in the server", f.Open, decimal, "running or waiting"},
		{"queue", f.Queue, decimal, steadiness(f)},
		{"KV cache", f.Cache, share, ""},
	} {
		if l.level != nil {
			p.row("  "+l.name, levelText(l.level, l.text), l.note)
		}
	}
	for _, t := range []struct {
		name  string
		times *account.Times
	}{
		{"TTFT", f.FirstToken},
		{"TPOT", f.OutputToken},
		{"ITL", f.InterToken},
		{"E2E", f.Whole},
		{"in the queue", f.Queued},
	} {
		if t.times != nil {
			p.row("  "+t.name, "mean "+duration(t.times.Mean), percentilesText(t.times.Percentiles))
		}
	}
	for _, n := range []struct {
		name  string
		value *float64
		text  func(float64) string
	}{
		{"batch size", f.Batch, decimal},
		{"prompt reuse", f.Reused, share},
		{"preemptions", f.Preemptions, func(v float64) string { return atLeast(f, wholeNumber(&v)) }},
		{"energy", f.Energy, func(v float64) string { return decimal(v) + " J" }},
		{"energy a token", f.EnergyPerToken, func(v float64) string { return decimal(v) + " J" }},
	} {
		if n.value != nil {
			p.row("  "+n.name, n.text(*n.value), "")
		}
	}
	writeAbsent(p, f.Absent)
}

// unknownCount stands for a number that is not known.
const unknownCount = "-"

// atLeast says of a known count whether it is a lower bound.
func atLeast(f *account.Figures, n string) string {
	if f.AtLeast && n != unknownCount {
		return "at least " + n
	}
	return n
}

// steadiness returns a sentence about whether the queue was still growing.
func steadiness(f *account.Figures) string {
	switch {
	case f.Steady == nil:
		return ""
	case *f.Steady:
		return "steady"
	}
	return "not steady: " + f.Growth + ", so the rates are no capacity"
}

func writeAbsent(p *textTable, absent map[string]string) {
	by := make(map[string][]string)
	for figure, reason := range absent {
		by[reason] = append(by[reason], nameOf(figure))
	}
	var lines []string
	for reason, figures := range by {
		slices.Sort(figures)
		lines = append(lines, "  no "+strings.Join(figures, ", ")+": "+reason)
	}
	slices.Sort(lines)
	for _, line := range lines {
		p.line(line)
	}
}

// nameOf returns what people call a figure.
func nameOf(figure string) string {
	for _, short := range []string{"ttft", "tpot", "itl", "e2e"} {
		if rest, ok := strings.CutPrefix(figure, short+"_seconds"); ok {
			return strings.ToUpper(short) + strings.ReplaceAll(rest, "_", " ")
		}
	}
	switch figure {
	case "open":
		return "requests in the server"
	case "queue_seconds":
		return "time in the queue"
	case "kv_cache_ratio":
		return "KV cache"
	case "reuse_ratio":
		return "prompt reuse"
	case "energy_joules":
		return "energy"
	case "energy_joules_per_token":
		return "energy a token"
	case "steady":
		return "answer whether the queue grows"
	}
	return strings.ReplaceAll(figure, "_", " ")
}

func classes(requests map[engine.Class]float64) string {
	var all []string
	for _, class := range append(engine.Classes(), engine.ClassUnknown) {
		if n, ok := requests[class]; ok {
			all = append(all, strconv.FormatFloat(n, 'f', 0, 64)+" "+string(class))
		}
	}
	if all == nil {
		return unknownCount
	}
	return strings.Join(all, ", ")
}

func wholeNumber(v *float64) string {
	if v == nil {
		return unknownCount
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

func aSecond(v *float64) string {
	if v == nil {
		return ""
	}
	return decimal(*v) + "/s"
}

// decimal has four digits, or all before the point.
func decimal(v float64) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func share(v float64) string { return decimal(100*v) + " %" }

func levelText(l *account.Level, text func(float64) string) string {
	all := []string{"mean " + text(l.Mean)}
	if l.Highest != nil {
		all = append(all, "highest "+text(*l.Highest))
	}
	if l.Last != nil {
		all = append(all, "at the end "+text(*l.Last))
	}
	return strings.Join(all, ", ")
}

// percentilesText gives the bounds between which percentiles lie.
func percentilesText(all []account.Percentile) string {
	var texts []string
	for _, p := range all {
		bounds := "above " + duration(p.Above)
		if p.UpTo != nil {
			bounds = duration(p.Above) + " to " + duration(*p.UpTo)
		}
		if p.Percent != 90 {
			texts = append(texts, fmt.Sprintf("p%d %s", p.Percent, bounds))
		}
	}
	return strings.Join(texts, ", ")
}

// duration has four digits.
func duration(seconds float64) string {
	switch {
	case seconds == 0:
		return "0"
	case seconds < 1:
		return strconv.FormatFloat(1000*seconds, 'g', 4, 64) + " ms"
	}
	return strconv.FormatFloat(seconds, 'g', 4, 64) + " s"
}
