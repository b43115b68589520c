package alerts

import "regexp"

// empty matches a group without rules, with the comments above it.
var empty = regexp.MustCompile(`(?m)^(?: {2}#.*\n)* {2}- name: .*\n {4}interval: .*\n {4}rules:\n+( {2}[-#]|\z)`)

// WithoutPanels returns rules as [Render] wrote them without records that no alert needs: only
// dashboards read those.
func WithoutPanels(rules []byte) []byte {
	needed := make(map[string]bool)
	names, texts := NewReads(rules).Alerts()
	for _, alert := range names {
		needed[alert] = true
		for _, read := range name.FindAllString(texts[alert], -1) {
			needed[read] = true
		}
	}
	kept := rule.ReplaceAllFunc(rules, func(text []byte) []byte {
		if needed[string(rule.FindSubmatch(text)[2])] {
			return text
		}
		return nil
	})
	return empty.ReplaceAll(kept, []byte("$1"))
}
