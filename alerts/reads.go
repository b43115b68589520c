package alerts

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	// rule matches a rule with the comments above it, and captures its kind and name.
	rule = regexp.MustCompile(`(?m)^(?: {6}#.*\n)* {6}- (record|alert): (\S+)\n(?: {8}.*\n)+\n?`)
	// comment matches a line that is a comment.
	comment = regexp.MustCompile(`(?m)^ *#.*\n`)
	// name matches names in a rule. Other words match too, which are names of nothing.
	name = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
)

// Reads knows what rules and queries read, also by the records that they read.
type Reads struct {
	// records holds the text of the rules of each record, alerts that of each alert.
	records, alerts map[string]string
}

// NewReads returns what rules read that [Render] wrote.
func NewReads(rules []byte) *Reads {
	r := &Reads{records: make(map[string]string), alerts: make(map[string]string)}
	for _, m := range rule.FindAllSubmatch(rules, -1) {
		all, of := r.records, string(m[2])
		if string(m[1]) == "alert" {
			all = r.alerts
		}
		all[of] += string(comment.ReplaceAll(m[0], nil))
	}
	return r
}

// DefaultReads returns what the rules with their default values read.
func DefaultReads() (*Reads, error) {
	values, err := DefaultValues()
	if err != nil {
		return nil, err
	}
	rules, err := Render(values)
	if err != nil {
		return nil, err
	}
	return NewReads(rules), nil
}

// Alerts returns the names of the alerts, sorted, with their rules and those of all records that they read.
func (r *Reads) Alerts() (names []string, texts map[string]string) {
	texts = make(map[string]string)
	for alert, text := range r.alerts {
		texts[alert] = r.Expand(text)
	}
	return slices.Sorted(maps.Keys(r.alerts)), texts
}

// Records is [Reads.Alerts] for recording rules.
func (r *Reads) Records() (names []string, texts map[string]string) {
	texts = make(map[string]string)
	for record := range r.records {
		texts[record] = r.Expand(record)
	}
	return slices.Sorted(maps.Keys(r.records)), texts
}

// Expand returns a query with the rules of all records that it reads.
func (r *Reads) Expand(query string) string {
	var b strings.Builder
	b.WriteString(query)
	seen, todo := make(map[string]bool), name.FindAllString(query, -1)
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if text, recorded := r.records[next]; recorded && !seen[next] {
			seen[next] = true
			b.WriteString("\n" + text)
			todo = append(todo, name.FindAllString(text, -1)...)
		}
	}
	return b.String()
}
