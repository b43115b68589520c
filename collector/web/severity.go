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

// The severities of a replica. One that was not judged yet is unknown, never healthy.
const (
	broken  = string(assess.Broken)
	look    = string(assess.Look)
	unknown = "unknown"
	healthy = string(assess.OK)
)

const stateReady = string(assess.Ready)

func severities() []string { return []string{broken, look, unknown, healthy} }

func severityRank(severity string) int { return slices.Index(severities(), severity) }

// stateRank sorts the states of one severity, those that certainly serve nothing first.
func stateRank(state string) int { return slices.Index(assess.States(), assess.State(state)) }

func severityOf(v *target.Verdict) string {
	if slices.Contains(severities(), v.Severity) {
		return v.Severity
	}
	return unknown
}

// wordFor returns what a replica is doing in a word or two. One that is ready but has a problem is
// not called ready.
func wordFor(v *target.Verdict) string {
	severity := severityOf(v)
	switch {
	case severity == unknown:
		return "not tried yet"
	case v.State == string(assess.Unknown):
		return "never seen"
	case v.State != stateReady || severity == healthy:
		return strings.ReplaceAll(v.State, "_", " ")
	case severity == broken:
		return "canary failing"
	}
	return cmp.Or(map[string]string{"LLMExpectationMismatch": "differs", "LLMReplicaSuspected": "suspected", "LLMCanaryFailing": "slow"}[v.Runbook], "check")
}

// clause tells how many replicas are doing what a word names.
func clause(n int, word string) string {
	verbs := map[string][2]string{
		"never seen": {"was never seen", "were never seen"}, "not tried yet": {"was not tried yet", "were not tried yet"},
		"canary failing": {"fails canary requests", "fail canary requests"}, "differs": {"differs", "differ"}, "check": {"needs attention", "need attention"},
	}[word]
	return plural(n, cmp.Or(verbs[0], "is "+word), cmp.Or(verbs[1], "are "+word))
}

// sentence makes a sentence of a reason. A first word that is an address or a name stays as it is.
func sentence(reason string) string {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(reason)
	if word, _, _ := strings.Cut(reason, " "); !strings.ContainsAny(word, "/:_") {
		reason = string(unicode.ToUpper(first)) + reason[size:]
	}
	return strings.TrimSuffix(reason, ".") + "."
}

// shortened cuts a long text off; the page of the replica has all of it.
func shortened(text string) string {
	const maxRunes = 280
	runes := []rune(text)
	if len(runes) <= maxRunes {
		return text
	}
	return string(runes[:maxRunes]) + "…"
}

// CompareNames compares names as people sort them: r2 before r10.
func CompareNames(a, b string) int {
	return cmp.Or(strings.Compare(natural(a), natural(b)), strings.Compare(a, b))
}

var digits = regexp.MustCompile(`\d+`)

// natural puts the length of each number before it, so that numbers in names sort by size.
func natural(name string) string {
	return digits.ReplaceAllStringFunc(name, func(n string) string {
		n = strings.TrimLeft(n, "0")
		return string(rune(len(n))) + n
	})
}
