package web

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The severities of a replica, the worst first. What nobody has judged yet is unknown,
// and never fine.
const (
	broken  = string(assess.Broken)
	look    = string(assess.Look)
	unknown = "unknown"
	fine    = string(assess.OK)
)

// severities are all of them in the order in which replicas are shown.
func severities() []string { return []string{broken, look, unknown, fine} }

// severityRank orders severities, the worst first.
func severityRank(severity string) int { return slices.Index(severities(), severity) }

// severityOf returns the severity of a verdict.
func severityOf(v *target.Verdict) string {
	if slices.Contains(severities(), v.Severity) {
		return v.Severity
	}
	return unknown
}

// stateWord is what a replica is doing, in a word or two. One that is ready and
// yet has something wrong is not called ready.
func stateWord(state, severity string) string {
	switch {
	case severity == unknown:
		return "not tried yet"
	case state == stateReady && severity == broken:
		return "canary failing"
	case state == stateReady && severity == look:
		return "check"
	}
	return strings.ReplaceAll(state, "_", " ")
}

// stateReady is the state of a replica that serves.
const stateReady = string(assess.Ready)

// stateRank orders replicas of one severity: what is certain to serve nothing
// first.
func stateRank(state string) int { return slices.Index(assess.States(), assess.State(state)) }

// sentence makes one of a reason, which is written as part of one.
func sentence(reason string) string {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(reason)
	if word, _, _ := strings.Cut(reason, " "); !strings.ContainsAny(word, "/:_") {
		reason = string(unicode.ToUpper(first)) + reason[size:]
	}
	if strings.HasSuffix(reason, ".") {
		return reason
	}
	return reason + "."
}

// brief is the front of a long text; the page of the replica has all of it.
func brief(text string) string {
	const most = 280
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// CompareNames compares names as people sort them: r2 before r10.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			m, n := digits(x), digits(y)
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits is how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
