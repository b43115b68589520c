package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// contradicted lists for a key the others that it may contradict while they have their defaults,
// without pools and indexes.
//
//nolint:gochecknoglobals // constant data.
var contradicted = map[string][]string{
	"global.scrape_timeout":      {"global.scrape_interval"},
	"global.window":              {"global.scrape_interval", "scrape_interval"},
	"sharding.index":             {"sharding.total"},
	"engine":                     {"kinds_file"},
	"kinds.marks":                {"kinds.prefix"},
	"scrape_timeout":             {"global.scrape_interval", "scrape_interval"},
	"api_scheme":                 {"api_port", "api_path"},
	"canary.timeout":             {"canary.interval"},
	"canary.first_token_timeout": {"canary.timeout"},
	"canary.gap_timeout":         {"canary.timeout"},
	"canary.end_timeout":         {"canary.timeout"},
	"canary.cancel_within":       {"canary.interval", "global.scrape_interval", "scrape_interval"},
	"static_configs.targets":     {"pool_id", "static_configs.labels.replica_id"},

	"relabel_configs.target_label":        {"relabel_configs.action"},
	"relabel_configs.replacement":         {"relabel_configs.action"},
	"metric_relabel_configs.target_label": {"metric_relabel_configs.action"},
	"metric_relabel_configs.replacement":  {"metric_relabel_configs.action"},
}

// followsFrom reports whether a mistake may only follow from one that is reported already: a key
// that was refused has its default, with which its block may be incomplete and other keys at odds.
func (c *checker) followsFrom(key, reason string) bool {
	contradicts := contradicted[kindOf(key)]
	return slices.ContainsFunc(c.refused, func(refused string) bool {
		return within(key, refused) || within(refused, key) && mentionsAll(reason, refused[len(key):]) ||
			len(contradicts) > 0 && slices.Contains(contradicts, kindOf(refused)) && meet(key, refused) &&
				mentions(reason, nameOf(refused))
	})
}

// mentionsAll reports whether what is wrong with a block has all keys of a path below it as words.
func mentionsAll(reason, below string) bool {
	for key := range strings.SplitSeq(strings.TrimPrefix(index.ReplaceAllString(below, ""), "."), ".") {
		if !mentions(reason, key) {
			return false
		}
	}
	return true
}

// meet reports whether two keys are of one block or pool, or one of them of all.
func meet(key, other string) bool {
	block, otherBlock := blockOf(key), blockOf(other)
	if kindOf(block) == kindOf(otherBlock) {
		return block == otherBlock
	}
	pool, otherPool := poolOf(key), poolOf(other)
	return pool == otherPool || pool == "" || otherPool == ""
}

// independent reports whether what a block of type t says about itself holds whatever its refused
// keys should be: if it names others.
func (c *checker) independent(message, path string, t reflect.Type) bool {
	refusedBelow := false
	for _, refused := range c.refused {
		if !within(refused, path) {
			continue
		}
		refusedBelow = true
		if refused == path || mentions(message, nameOf(refused)) {
			return false
		}
	}
	if !refusedBelow {
		return true
	}
	if t.Kind() == reflect.Struct {
		for _, key := range keysOf(t).order {
			if mentions(message, key) {
				return true
			}
		}
	}
	return false
}

// within reports whether a path leads to a block or into it.
func within(path, block string) bool {
	rest, ok := strings.CutPrefix(path, block)
	return ok && (block == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// index matches the index of an entry of a list.
var index = regexp.MustCompile(`\[\d+\]`)

// poolOf returns the beginning of a path that names its pool, "" for other blocks.
func poolOf(path string) string {
	if !strings.HasPrefix(path, "pools[") {
		return ""
	}
	return path[:strings.IndexByte(path, ']')]
}

// kindOf returns a path without pools and indexes.
func kindOf(path string) string {
	return strings.TrimPrefix(index.ReplaceAllString(path, ""), "pools.")
}

// blockOf returns the path without its last key.
func blockOf(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// nameOf returns the last key of a path.
func nameOf(path string) string {
	kind := kindOf(path)
	return kind[strings.LastIndexByte(kind, '.')+1:]
}

// mentions reports whether a text has a key as a word, also in the singular or plural and with
// spaces: "two scrape intervals".
func mentions(text, key string) bool {
	word := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(key, "s")), "_", "[_ ]")
	return word != "" && regexp.MustCompile(`(?i)(^|[^a-z0-9_])`+word+`s?($|[^a-z0-9_])`).MatchString(text)
}
