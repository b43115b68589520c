// Package alerts owns the recording rules and alerts, their thresholds, and the runbook. It must
// not know who uses them: the command line prints the rules, a chart templates them, the status
// pages show the runbook. Begin reading at [Groups].
package alerts

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
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

// Values holds thresholds and other values of the rules by key, as text.
type Values map[string]string

// DefaultValues returns the values of values.yaml.
func DefaultValues() (Values, error) {
	text, err := files.ReadFile("values.yaml")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// ParseValues returns the default values with overrides in YAML.
func ParseValues(text []byte) (Values, error) {
	values, err := DefaultValues()
	if err != nil {
		return nil, err
	}
	overrides, err := parse(text)
	if overrides == nil {
		return nil, err
	}
	errs := []error{err}
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		if _, exists := values[key]; !exists {
			errs = append(errs, fmt.Errorf("unknown key %s: `trtllm_exporter rules --print-values` lists them", key))
		}
		values[key] = overrides[key]
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return values, nil
}

// parse reads a flat mapping. Numbers keep their text.
func parse(text []byte) (Values, error) {
	var nodes map[string]yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&nodes); errors.Is(err, io.EOF) {
		return Values{}, nil
	} else if err != nil && strings.Contains(err.Error(), "cannot unmarshal") {
		return nil, errors.New("values of rules: the file is no mapping; write a line key: value for each")
	} else if err != nil {
		return nil, fmt.Errorf("values of rules: %w", err)
	}
	v := make(Values)
	var errs []error
	var second yaml.Node
	if err := documents.Decode(&second); !errors.Is(err, io.EOF) {
		errs = append(errs, fmt.Errorf(
			"values of rules: line %d: a second document starts here; put all into one and remove the line ---", second.Line,
		))
	}
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[key]
		if node.Kind != yaml.ScalarNode {
			errs = append(errs, fmt.Errorf("values of rules: line %d: %s must be text or a number, not a list or mapping",
				node.Line, key))
		}
		v[key] = node.Value
	}
	return v, errors.Join(errs...)
}

// ValuesText returns values.yaml with its comments.
func ValuesText() (string, error) {
	text, err := files.ReadFile("values.yaml")
	return string(text), err
}

// Group is a file of rules with its values filled in.
type Group struct {
	// Name is the name of the file without extension, like availability.
	Name string
	// Text is YAML for Prometheus.
	Text string
}

// Groups returns all files of rules, recording rules first.
func Groups(v Values) ([]Group, error) {
	v, err := v.complete()
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
		filled, err := fill(v.dropLinks(string(text)), v)
		if err != nil {
			return nil, fmt.Errorf("rules/%s: %w", e.Name(), err)
		}
		groups = append(groups, Group{Name: strings.TrimSuffix(e.Name(), ".yaml"), Text: filled})
	}
	recording := slices.IndexFunc(groups, func(g Group) bool { return g.Name == "recording" })
	first := groups[recording]
	return slices.Insert(slices.Delete(groups, recording, recording+1), 0, first), nil
}

// dropLinks removes annotations that are links with an empty address.
func (v Values) dropLinks(text string) string {
	links := map[string]string{"grafana": "dashboard_url", "exporter": "status_url", "runbook": "runbook_url"}
	for key, link := range links {
		if address, exists := v[key]; exists && address == "" {
			text = regexp.MustCompile("(?m)^ *"+link+": .*\n").ReplaceAllString(text, "")
		}
	}
	return text
}

// Render returns all rules as one file.
func Render(v Values) ([]byte, error) {
	groups, err := Groups(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("# Written by `trtllm_exporter rules`; thresholds are in its --values.\n")
	for i, g := range groups {
		above, body, _ := strings.Cut(g.Text, "groups:\n")
		if i == 0 {
			out.WriteString(above + "groups:\n") // It says what a pool is.
		}
		out.WriteString(body)
	}
	return out.Bytes(), nil
}

// placeholder matches ${key}.
var placeholder = regexp.MustCompile(`\$\{(\w+)\}`)

// fill replaces placeholders by values.
func fill(text string, v Values) (filled string, err error) {
	filled = placeholder.ReplaceAllStringFunc(text, func(match string) string {
		value, exists := v[match[2:len(match)-1]]
		if !exists {
			err = fmt.Errorf("no value for %s", match)
		}
		return value
	})
	return filled, err
}
