package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

func kindWord(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		return "a mapping"
	}
	if n.Kind == yaml.SequenceNode {
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "text"
}

func typeWord(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[model.Duration]():
		return "a duration like 5s or 1m"
	case t == reflect.TypeFor[scrape.Size]():
		return "a size like 16MiB"
	case isWhole(t):
		return "a whole number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	}
	return "text"
}

// decodeMessage explains why a node does not fit a type. It never quotes a secret.
func decodeMessage(err error, n *yaml.Node, t reflect.Type) string {
	var (
		typeErr *yaml.TypeError
		urlErr  *url.Error
	)
	switch {
	case t == reflect.TypeFor[config.Secret]():
		return "must be text"
	case t == reflect.TypeFor[model.Duration](), t == reflect.TypeFor[scrape.Size]():
		return fmt.Sprintf("%q is not %s", n.Value, typeWord(t))
	case errors.As(err, &urlErr):
		return adviceURL
	case errors.As(err, &typeErr) && n.Kind == yaml.ScalarNode:
		return fmt.Sprintf("%q is not %s", n.Value, typeWord(t))
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	return message + advice(message)
}

// instead says what to write in place of a list or mapping.
func instead(n *yaml.Node, path string) string {
	key := index.ReplaceAllString(path[strings.LastIndexByte(path, '.')+1:], "")
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode:
		return "; it looks like a template that was not filled in"
	case key == "targets":
		return "; write it like 10.0.0.1:8002, and labels beside targets"
	case key == "label":
		return "; write it like app=vllm"
	case key == "replicas":
		return "; write a number like 8, or a range like 2-8"
	}
	return ""
}

// written says how to write a number that does not fit for its quotes, its comma or its per cent.
func written(n *yaml.Node, t reflect.Type) string {
	number := isWhole(t) || t.Kind() == reflect.Float64
	if !number && t.Kind() != reflect.Bool || isText(t) || decodesItself(t) {
		return ""
	}
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	if quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0; quoted {
		if plain.Decode(reflect.New(t).Interface()) == nil {
			return ", as it is in quotes; write " + n.Value
		}
	}
	if t.Kind() != reflect.Float64 {
		return ""
	}
	if percent, ok := strings.CutSuffix(n.Value, "%"); ok {
		if share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64); err == nil {
			return "; write " + strconv.FormatFloat(share/100, 'g', -1, 64)
		}
	}
	if amount, err := strconv.ParseFloat(strings.Replace(n.Value, ",", ".", 1), 64); err == nil {
		return "; write " + strconv.FormatFloat(amount, 'g', -1, 64)
	}
	return ""
}

// excessive is what the YAML package says about aliases that repeat too much.
const excessive = "document contains excessive aliasing"

// advice returns what to write instead, given an error of Prometheus' types.
func advice(message string) string {
	for _, m := range []struct{ part, advice string }{
		{
			"unknown relabel action",
			"; use replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep, lowercase " +
				"or uppercase",
		},
		{"unknown Kubernetes SD role", "; use pod, service, endpoints, endpointslice, node or ingress"},
		{"requires non-zero modulus", "; set modulus to the number of parts"},
		{"requires 'target_label' value", "; set target_label to the label to write"},
		{"a port is required in DNS-SD", "; set port"},
		{"role supports only", "; give each entry of selectors one of these as its role"},
		{"setting header", "; other keys set it, such as authorization and basic_auth"},
		{"at most one of", "; keep one of them"},
		{"unknown TLS version", "; use TLS12 or TLS13"},
		{"not valid for file discovery", "; end the name in .json, .yml or .yaml"},
		{"DNS-SD records type", "; use SRV, A, AAAA, MX or NS"},
		{"error parsing regexp", "; write an RE2 expression and escape what is meant literally"},
		{excessive, "; write values out instead of repeating aliases of aliases"},
		{"not a valid label name", "; give the label a name"},
	} {
		if strings.Contains(message, m.part) {
			return m.advice
		}
	}
	return ""
}
