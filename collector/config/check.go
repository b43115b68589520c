package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// checker walks a parsed document together with the Go types that it fills and
// notes what does not fit, with the line and the path of the key. The strict
// decoder of the YAML package finds the same mistakes, but names Go types instead
// of keys and stops at the first that is not about types.
type checker struct {
	problems problems
	// What is understood and should be written otherwise.
	warnings problems
	// The line of every key, by its path.
	lines map[string]int
	// What was walked: a node that several aliases repeat is walked once.
	seen map[visit]bool
}

// visit is one node read as one type.
type visit struct {
	node *yaml.Node
	as   reflect.Type
}

// maxDepth bounds the walk; no key of the document lies nearly as deep.
const maxDepth = 64

func newChecker() *checker {
	return &checker{lines: map[string]int{}, seen: map[visit]bool{}}
}

// walk checks that node fits type t and reports whether it does.
func (c *checker) walk(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	n = resolve(n)
	if _, known := c.lines[path]; !known {
		c.lines[path] = n.Line
	}
	t = shapeOf(t)
	if depth > maxDepth {
		c.problems.add(n.Line, "%s: nested too deeply", path)
		return false
	}
	if c.seen[visit{n, t}] {
		return true
	}
	c.seen[visit{n, t}] = true
	if n.ShortTag() == "!!null" {
		return true
	}
	switch {
	case t.Kind() == reflect.Struct && hasKeys(t):
		return c.walkStruct(n, t, path, depth)
	case t.Kind() == reflect.Map:
		return c.walkMap(n, t, path, depth)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !isText(t):
		return c.walkList(n, t, path, depth)
	case t.Kind() == reflect.Interface:
		return true
	}
	return c.leaf(n, t, path)
}

// walkStruct checks a mapping with fixed keys, then lets the type decode it,
// because many types refuse combinations of keys while they decode.
func (c *checker) walkStruct(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.MappingNode {
		c.problems.add(n.Line, "%s must be a mapping of keys, not %s; known keys: %s", place(path), kindWord(n), knownKeys(keysOf(t)))
		return false
	}
	ok := c.walkPairs(n, keysOf(t), path, depth, map[string]int{})
	if !ok || !decodesItself(t) {
		return ok
	}
	return c.decode(n, t, path)
}

// walkPairs checks the keys and values of a mapping; set holds the lines of
// the keys that this struct already has.
func (c *checker) walkPairs(n *yaml.Node, keys *keySet, path string, depth int, set map[string]int) bool {
	ok := c.rename(n, keys, path)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			ok = c.walkMerge(value, path, depth, func(n *yaml.Node, depth int) bool {
				return c.walkPairs(n, keys, path, depth, map[string]int{})
			}) && ok
			continue
		}
		if key.Kind != yaml.ScalarNode || keys.fields[key.Value] != nil && key.ShortTag() != "!!str" {
			// The decoder would read another name here than the one that is checked.
			c.problems.add(key.Line, "a key in %s must be plain text; write it without alias (*), tag (!) or brackets", place(path))
			ok = false
			continue
		}
		if line, twice := set[key.Value]; twice {
			c.problems.add(key.Line, "key %q in %s is already set on line %d; remove one of the two", key.Value, place(path), line)
			ok = false
			continue
		}
		set[key.Value] = key.Line
		if keys.renamed[key.Value] != "" {
			continue
		}
		field, known := keys.fields[key.Value]
		if !known && keys.rest == nil {
			c.problems.add(key.Line, "unknown key %q in %s%s", key.Value, place(path), hint(key.Value, path, keys))
			ok = false
			continue
		}
		if !known {
			field = keys.rest
		}
		p := join(path, key.Value)
		c.lines[p] = key.Line
		ok = c.walk(value, field, p, depth+1) && ok
	}
	return ok
}

// rename gives keys that are written under an old name today's, the only one that
// the decoder knows.
func (c *checker) rename(n *yaml.Node, keys *keySet, path string) bool {
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		now, old := keys.renamed[key.Value]
		if !old || key.Kind != yaml.ScalarNode {
			continue
		}
		if line := keyLine(n, now); line > 0 {
			c.problems.add(key.Line, "key %q in %s is the old name of %q, which is set on line %d; remove one of the two", key.Value, place(path), now, line)
			ok = false
			continue
		}
		c.warnings.add(key.Line, "key %q in %s is now called %q; rename it", key.Value, place(path), now)
		key.Value = now
	}
	return ok
}

// keyLine is the line of a key of a mapping, 0 if it is not set.
func keyLine(n *yaml.Node, name string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i].Line
		}
	}
	return 0
}

// walkMerge lets each check the mappings that a merge key ("<<") brings in.
func (c *checker) walkMerge(n *yaml.Node, path string, depth int, each func(*yaml.Node, int) bool) bool {
	n = resolve(n)
	switch {
	case depth > maxDepth:
		c.problems.add(n.Line, "%s: nested too deeply", path)
		return false
	case n.Kind == yaml.MappingNode:
		return each(n, depth+1)
	case n.Kind == yaml.SequenceNode:
		ok := true
		for _, item := range n.Content {
			ok = c.walkMerge(item, path, depth+1, each) && ok
		}
		return ok
	}
	c.problems.add(n.Line, "%s: a merge key (<<) takes a mapping, not %s", place(path), kindWord(n))
	return false
}

// walkMap checks a mapping whose keys the operator chooses.
func (c *checker) walkMap(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.MappingNode {
		c.problems.add(n.Line, "%s must be a mapping, not %s; write it as name: value", place(path), kindWord(n))
		return false
	}
	set := map[string]int{}
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			ok = c.walkMerge(value, path, depth, func(n *yaml.Node, depth int) bool { return c.walkMap(n, t, path, depth) }) && ok
			continue
		}
		if line, twice := set[key.Value]; twice {
			c.problems.add(key.Line, "key %q in %s is already set on line %d; remove one of the two", key.Value, place(path), line)
			ok = false
			continue
		}
		set[key.Value] = key.Line
		p := join(path, key.Value)
		c.lines[p] = key.Line
		ok = c.leaf(key, t.Key(), p) && c.walk(value, t.Elem(), p, depth+1) && ok
	}
	return ok
}

// walkList checks a sequence.
func (c *checker) walkList(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.SequenceNode {
		c.problems.add(n.Line, "%s must be a list, not %s; start each entry with \"- \"", place(path), kindWord(n))
		return false
	}
	ok := true
	for i, item := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		if resolve(item).ShortTag() == "!!null" {
			c.problems.add(item.Line, "%s is empty; fill it or remove the \"-\"", at)
			ok = false
			continue
		}
		ok = c.walk(item, t.Elem(), at, depth+1) && ok
	}
	if !ok || !decodesItself(t) {
		return ok
	}
	return c.decode(n, t, path)
}

// leaf checks a value without keys of its own.
func (c *checker) leaf(n *yaml.Node, t reflect.Type, path string) bool {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode {
		c.problems.add(n.Line, "%s must be %s, not %s", path, typeWord(t), kindWord(n))
		return false
	}
	if n.ShortTag() == "!!float" && isWhole(t) {
		c.problems.add(n.Line, "%s: %q is not %s", path, n.Value, typeWord(t))
		return false
	}
	return c.decode(n, t, path)
}

// decode lets type t read the node; if that fails, it says why in the operator's words.
func (c *checker) decode(n *yaml.Node, t reflect.Type, path string) bool {
	err := n.Decode(reflect.New(t).Interface())
	if err == nil {
		return true
	}
	c.problems.add(n.Line, "%s: %s", path, decodeMessage(err, n, t))
	return false
}

// isWhole says whether a type holds whole numbers, which the decoder would
// cut out of fractions.
func isWhole(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && !decodesItself(t) && !isText(t)
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			return n
		}
		n = n.Alias
	}
	return n
}

// join adds a key to the path of its mapping, in quotes if it is not a plain word.
func join(path, key string) string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }
	switch {
	case key == "" || strings.ContainsFunc(key, odd):
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}

// place names a mapping in a sentence.
func place(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}
