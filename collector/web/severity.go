package web

import (
	"cmp"
	"regexp"
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

// wordOf is what a replica is doing, in a word or two. One that is ready and yet has
// something wrong is not called ready.
func wordOf(v *target.Verdict) string {
	severity := severityOf(v)
	switch {
	case severity == unknown:
		return "not tried yet"
	case v.State == string(assess.Unknown):
		return "never seen"
	case v.State != stateReady || severity == fine:
		return strings.ReplaceAll(v.State, "_", " ")
	case severity == broken:
		return "canary failing"
	}
	return cmp.Or(map[string]string{"LLMExpectationMismatch": "differs", "LLMReplicaSuspected": "suspected", "LLMCanaryFailing": "slow"}[v.Runbook], "check")
}

// said is what so many replicas are doing, by the word for it.
func said(n int, word string) string {
	words := map[string][2]string{
		"never seen": {"was never seen", "were never seen"}, "not tried yet": {"was not tried yet", "were not tried yet"},
		"canary failing": {"fails its canary", "fail their canary"}, "differs": {"differs", "differ"}, "check": {"needs a look", "need a look"},
	}[word]
	return plural(n, cmp.Or(words[0], "is "+word), cmp.Or(words[1], "are "+word))
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
	return cmp.Or(strings.Compare(natural(a), natural(b)), strings.Compare(a, b))
}

var digits = regexp.MustCompile(`\d+`)

// natural is a name with the length of each number before it, so that they sort by size.
func natural(name string) string {
	return digits.ReplaceAllStringFunc(name, func(n string) string {
		n = strings.TrimLeft(n, "0")
		return string(rune(len(n))) + n
	})
}
