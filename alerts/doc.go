// Package alerts owns the recording rules and alerts for Prometheus, their
// thresholds and the way the two are put together. It must not know who runs
// the rules: the command line prints them, a chart templates them.
package alerts

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:generate go run ../tools/alertrules rules.yml

//go:embed rules/*.yaml runbook.md values.yaml
var files embed.FS

// Values are the numbers that rules depend on, by key, as text.
type Values map[string]string

// UnmarshalYAML takes a flat mapping; the text of a number stays as written,
// so that 1h, 0.95 and 2(\.0)? are all values.
func (v *Values) UnmarshalYAML(unmarshal func(any) error) error {
	type plain map[string]string
	read := make(plain)
	if err := unmarshal(&read); err != nil {
		return err
	}
	*v = Values(read)
	return nil
}

// DefaultValues are those of values.yaml.
func DefaultValues() (Values, error) {
	text, err := files.ReadFile("values.yaml")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// ParseValues reads values that override the default ones.
func ParseValues(text []byte) (Values, error) {
	defaults, err := DefaultValues()
	if err != nil {
		return nil, err
	}
	given, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if _, known := defaults[key]; !known {
			return nil, fmt.Errorf("unknown key %s: `trtllm_exporter rules --print-values` lists them", key)
		}
		defaults[key] = given[key]
	}
	return defaults, nil
}

// parse reads a flat mapping.
func parse(text []byte) (Values, error) {
	v := make(Values)
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("values of rules: %w", err)
	}
	return v, nil
}

// ValuesText is values.yaml with its comments.
func ValuesText() (string, error) {
	text, err := files.ReadFile("values.yaml")
	return string(text), err
}

// Group is a file of rules with its values put in.
type Group struct {
	// Name is that of the file without its ending, as availability.
	Name string
	// Text is YAML as Prometheus reads it.
	Text string
}

// Groups are all files of rules; recording rules come first.
func Groups(v Values) ([]Group, error) {
	v, err := v.whole()
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(files, "rules")
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, e := range entries {
		text, err := files.ReadFile("rules/" + e.Name())
		if err != nil {
			return nil, err
		}
		filled, err := fill(v.linked(string(text)), v)
		if err != nil {
			return nil, fmt.Errorf("rules/%s: %w", e.Name(), err)
		}
		groups = append(groups, Group{Name: strings.TrimSuffix(e.Name(), ".yaml"), Text: filled})
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return rank(a) - rank(b)
	})
	return groups, nil
}

// linked leaves links out of alerts to what has no address.
func (v Values) linked(text string) string {
	for key, link := range map[string]string{"grafana": "dashboard_url", "exporter": "status_url"} {
		if address, given := v[key]; given && address == "" {
			text = regexp.MustCompile("(?m)^ *"+link+": .*\n").ReplaceAllString(text, "")
		}
	}
	return text
}

// rank puts what others read in front.
func rank(g Group) int {
	if g.Name == "recording" {
		return 0
	}
	return 1
}

// Render is all rules as one file.
func Render(v Values) ([]byte, error) {
	groups, err := Groups(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("# Written by `trtllm_exporter rules`; thresholds are in its --values.\ngroups:\n")
	for _, g := range groups {
		_, body, found := strings.Cut(g.Text, "groups:\n")
		if !found {
			return nil, fmt.Errorf("rules/%s.yaml: %w", g.Name, errors.New("no groups"))
		}
		out.WriteString(body)
	}
	return out.Bytes(), nil
}

// fill puts values in place of ${key}.
func fill(text string, v Values) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		key, after, closed := strings.Cut(rest, "}")
		value, known := v[key]
		if !closed || !known {
			return "", fmt.Errorf("no value for ${%s}", key)
		}
		out.WriteString(value)
		text = after
	}
}
