package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// maxKeys is the number of known keys that a message lists.
const maxKeys = 10

// renamed maps keys of Prometheus' configuration to the keys to use here.
//
//nolint:gochecknoglobals // constant data.
var renamed = map[string]string{
	"scrape_configs":           "pools",
	"job_name":                 "pool_id",
	"body_size_limit":          "limits.body",
	"sample_limit":             "limits.samples",
	"label_limit":              "limits.labels",
	"label_name_length_limit":  "limits.label_name",
	"label_value_length_limit": "limits.label_value",
	"api_key":                  "authorization.credentials",
	"bearer_token":             "authorization.credentials",
	"bearer_token_file":        "authorization.credentials_file",
	"consul_sd_configs":        "file_sd_configs, http_sd_configs or dns_sd_configs",
	"ec2_sd_configs":           "file_sd_configs, http_sd_configs or dns_sd_configs",
}

// keyInstead returns the key of ours for one of Prometheus, empty if there is none. A pool is often given a name, and
// what names a replica is a label of its target.
func keyInstead(key string, keys *keySet) string {
	switch inPool := slices.Contains(keys.order, "pool_id"); {
	case key == "name" && inPool:
		return "pool_id"
	case key == relabel.LabelReplicaID && inPool:
		return "static_configs[].labels.replica_id"
	case key == relabel.LabelReplicaID:
		return "labels.replica_id"
	}
	return renamed[key]
}

// hint returns what to write instead of an unknown key.
func (c *checker) hint(key, path string, keys *keySet) string {
	if other := keyInstead(key, keys); other != "" {
		return "; use " + other
	}
	if near := nearestHint(key, keys.order); near != "" {
		return near
	}
	parents := blocksWith(key, c.root) // The one closest to the root is the most likely.
	if parts := PartlyNamed(key, keys.order); len(parts) > 0 {
		for i, part := range parts {
			parts[i] = strconv.Quote(part)
		}
		meant := strings.Join(parts[:min(2, len(parts))], " or ")
		if here := index.ReplaceAllString(path, "[]"); len(parents) > 0 && strings.HasPrefix(parents[0], here) {
			meant += ", or the key of " + describe(parents[0])
		}
		return "; did you mean " + meant + "?"
	}
	if len(parents) > 0 && parents[0] != path {
		for i, parent := range parents {
			parents[i] = describe(parent)
		}
		return "; it belongs in " + strings.Join(parents[:min(2, len(parents))], " or ")
	}
	if len(keys.order) > maxKeys {
		return "; " + c.documented() + " lists the keys"
	}
	return "; known keys: " + knownKeys(keys)
}

// documented returns the document that lists the keys.
func (c *checker) documented() string {
	if c.root == reflect.TypeFor[kindsDocument]() {
		return "docs/kinds.md"
	}
	return "docs/configuration.md"
}

// nearestHint asks for the candidate that word is most likely a typo of; it is empty if there is none.
func nearestHint(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Blocks returns the paths of the blocks that may have a key, the closest to the root first.
func Blocks(key string) []string { return blocksWith(key, reflect.TypeFor[File]()) }

func blocksWith(key string, document reflect.Type) []string {
	blocks := parentsOf(key, document, "")
	slices.SortStableFunc(blocks, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	return blocks
}

// meantBy returns the keys that may be meant by an unknown one.
func meantBy(key string, keys *keySet) []string {
	if other := keyInstead(key, keys); other != "" {
		return strings.FieldsFunc(strings.ReplaceAll(other, " or ", " "), func(r rune) bool { return r == ' ' || r == ',' })
	}
	if near := Nearest(key, keys.order); near != "" {
		return []string{near}
	}
	return PartlyNamed(key, keys.order)
}

// PartlyNamed returns the names that begin with another one, as username with user, or end with its words, as
// refresh_interval with interval.
func PartlyNamed(name string, known []string) []string {
	named := func(other string) bool {
		return strings.HasPrefix(other, name) || slices.ContainsFunc([]string{"_", ".", "-"}, func(separator string) bool {
			return strings.HasSuffix(other, separator+name)
		})
	}
	return slices.DeleteFunc(slices.Clone(known), func(other string) bool { return !named(other) })
}

func knownKeys(keys *keySet) string {
	if len(keys.order) > maxKeys {
		return strings.Join(keys.order[:maxKeys], ", ") + ", ..."
	}
	return strings.Join(keys.order, ", ")
}

// Nearest returns the candidate that key is most likely a typo of, or "".
func Nearest(key string, candidates []string) string {
	key = strings.ToLower(key)
	best, bestDistance := "", max(1, len(key)/3)+1
	for _, candidate := range candidates {
		if d := distance(key, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance returns the edit distance of two words. Swapping adjacent letters counts as one edit.
func distance(a, b string) int {
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = slices.Min([]int{current[j] + 1, next[j-1] + 1, current[j-1] + cost})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], previous[j-2]+1)
			}
		}
		previous, current = current, next
	}
	return current[len(b)]
}
