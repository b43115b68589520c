package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/prometheus/common/model"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// redacted replaces secrets inside a URL, where <secret> would be invalid.
const redacted = "xxxxx"

// secretToken replaces secret values.
const secretToken = secret.Mark

// String returns the document with defaults as YAML that Parse accepts. Passwords, tokens, keys
// and parameters of targets are printed as <secret>; user names, passwords and queries of URLs as
// xxxxx.
func (f *File) String() string {
	var doc yaml.Node
	if err := doc.Encode(f); err != nil {
		return fmt.Sprintf("# print configuration: %v\n", err)
	}
	redact(&doc, "")
	var out strings.Builder
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	return out.String()
}

// redact hides secrets that are not hidden by their types; n is the value of key.
func redact(n *yaml.Node, key string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i].Value, n.Content[i+1]
			switch {
			case key == "http_headers" && secret.Sounds(name):
				hideAll(value)
			case (key == "endpoint_params" || key == "claims") && value.Kind == yaml.ScalarNode:
				value.SetString(secretToken) // What a login sends may be an assertion, whatever its name.
			case isParam(name) && key == "labels",
				name == "replacement" && setsParam(n) && value.Value != defaultReplacement:
				value.SetString(secretToken)
			default:
				redact(value, name)
			}
		}
	case yaml.ScalarNode:
		if key != "regex" && strings.Contains(n.Value, "://") {
			n.Value = redactURL(n.Value)
		}
	default:
		for _, item := range n.Content {
			redact(item, key)
		}
	}
}

// defaultReplacement is the default replacement of a relabeling rule.
const defaultReplacement = "$1"

// isParam reports whether a label of a target is a query parameter of its URL.
func isParam(label string) bool { return strings.HasPrefix(label, model.ParamLabelPrefix) }

// setsParam reports whether a relabeling rule sets such a label.
func setsParam(rule *yaml.Node) bool {
	for i := 0; i+1 < len(rule.Content); i += 2 {
		if rule.Content[i].Value == "target_label" {
			return isParam(rule.Content[i+1].Value)
		}
	}
	return false
}

// hideAll hides the values of a header, except file names.
func hideAll(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "files" {
			continue
		}
		for _, value := range n.Content[i+1].Content {
			value.SetString(secretToken)
		}
	}
}

// redactURL hides user name, password and query of a URL, even of an invalid one.
func redactURL(s string) string {
	s = regexp.MustCompile(`://[^/?#\s]*@`).ReplaceAllString(s, "://"+redacted+"@")
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return regexp.MustCompile(`(://[^?#\s]*\?)[^#\s]+`).ReplaceAllString(s, "${1}"+redacted)
	case u.RawQuery == "":
		return s
	}
	u.RawQuery = redacted
	return u.String()
}
