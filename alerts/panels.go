package alerts

import "regexp"

var (
	// rule matches a rule with the comments above it, and captures its name.
	rule = regexp.MustCompile(`(?m)^(?: {6}#.*\n)* {6}- (?:record|alert): (\S+)\n(?: {8}.*\n)+\n?`)
	// alert matches the beginning of an alert.
	alert = regexp.MustCompile(`(?m)^ {6}- alert: `)
	// name matches names in a rule. Other words match too, which only keeps more rules.
	name = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	// empty matches a group without rules, with the comments above it.
	empty = regexp.MustCompile(`(?m)^(?: {2}#.*\n)* {2}- name: .*\n {4}interval: .*\n {4}rules:\n+( {2}[-#]|\z)`)
)

// WithoutPanels returns rules as [Render] wrote them without records that no alert needs: only
// dashboards read those.
func WithoutPanels(rules []byte) []byte {
	reads := make(map[string][]string)
	var todo []string
	for _, m := range rule.FindAllSubmatch(rules, -1) {
		names := name.FindAllString(string(m[0]), -1)
		reads[string(m[1])] = append(reads[string(m[1])], names...)
		if alert.Match(m[0]) {
			todo = append(todo, names...)
		}
	}
	needed := make(map[string]bool)
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if !needed[next] {
			needed[next] = true
			todo = append(todo, reads[next]...)
		}
	}
	kept := rule.ReplaceAllFunc(rules, func(text []byte) []byte {
		if needed[string(rule.FindSubmatch(text)[1])] {
			return text
		}
		return nil
	})
	return empty.ReplaceAll(kept, []byte("$1"))
}
