package alerts_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// ruleFile is a file of rules, which are kept as written.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name     string           `yaml:"name"`
	Interval string           `yaml:"interval"`
	Rules    []map[string]any `yaml:"rules"`
}

// name matches names in a query. Other words match too, which only keeps unused rules.
var name = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)

// needed returns the rules that a test reads, directly or through others, because promtool
// evaluates all given rules at each step of each test. Without a test it keeps all alerts.
func needed(t *testing.T, rules, test []byte) []byte {
	t.Helper()
	var file ruleFile
	require.NoError(t, yaml.Unmarshal(rules, &file))
	reads := make(map[string][]string)
	wanted := make(map[string]bool)
	todo := name.FindAllString(string(test), -1)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alert, isAlert := r["alert"].(string)
			record, _ := r["record"].(string)
			key := alert + record
			reads[key] = append(
				reads[key],
				name.FindAllString(r["expr"].(string), -1)...) //nolint:forcetypeassert // every rule has one.
			if isAlert && test == nil {
				todo = append(todo, alert)
			}
		}
	}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if more, known := reads[next]; known && !wanted[next] {
			wanted[next] = true
			todo = append(todo, more...)
		}
	}
	for i := range file.Groups {
		file.Groups[i].Rules = slices.DeleteFunc(file.Groups[i].Rules, func(r map[string]any) bool {
			alert, _ := r["alert"].(string)
			record, _ := r["record"].(string)
			return !wanted[alert+record]
		})
	}
	file.Groups = slices.DeleteFunc(file.Groups, func(g ruleGroup) bool { return len(g.Rules) == 0 })
	text, err := yaml.Marshal(&file)
	require.NoError(t, err)
	return text
}

// groupNames returns the names of all groups in order, which promtool must evaluate in that order
// for exact times.
func groupNames(t *testing.T, rules []byte) []string {
	t.Helper()
	var file ruleFile
	require.NoError(t, yaml.Unmarshal(rules, &file))
	names := make([]string, len(file.Groups))
	for i, g := range file.Groups {
		names[i] = g.Name
	}
	return names
}
