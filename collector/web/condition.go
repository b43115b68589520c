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

// condition is how much the verdict on a replica matters, in the order in which
// conditions are shown: the worst first.
type condition int

// The conditions. What nobody has judged yet is unknown, and never fine.
const (
	broken condition = iota
	look
	untried
	fine
)

// conditionOf reads the severity of a verdict.
func conditionOf(v *target.Verdict) condition {
	switch assess.Severity(v.Severity) {
	case assess.Broken:
		return broken
	case assess.Look:
		return look
	case assess.OK:
		return fine
	default:
		return untried
	}
}

// Tone is the class of the style sheet.
func (c condition) Tone() string {
	return [...]string{"broken", "look", "untried", "fine"}[c]
}

// String is the word of a filter.
func (c condition) String() string {
	return [...]string{string(assess.Broken), string(assess.Look), unknown, string(assess.OK)}[c]
}

// stateWord is what a replica is doing, in a word or two. One that is ready and
// yet has something wrong is not called ready.
func stateWord(v *target.Verdict, c condition) string {
	switch {
	case c == untried:
		return "not tried yet"
	case v.State == stateReady && c == broken:
		return "canary failing"
	case v.State == stateReady && c == look:
		return "check"
	}
	return strings.ReplaceAll(v.State, "_", " ")
}

// stateRank orders replicas of one condition: what is certain to serve nothing
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
