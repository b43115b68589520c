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
	// The line of every key, by its path.
	lines map[string]int
	// What was walked, and whether it fits: a node that several aliases repeat is
	// walked once.
	seen map[visit]bool
}

// visit is one node read as one type.
type visit struct {
	node *yaml.Node
	as   reflect.Type
	// into is the path of the mapping that it is merged into, if it is.
	into string
}

// wrong notes a mistake in a key, value or entry.
func (c *checker) wrong(n *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, problem{line: n.Line, text: fmt.Sprintf(format, args...)})
}

func newChecker() *checker {
	return &checker{lines: map[string]int{}, seen: map[visit]bool{}}
}

// walk checks that node fits type t and reports whether it does.
func (c *checker) walk(n *yaml.Node, t reflect.Type, path string) bool {
	n = resolve(n)
	if _, known := c.lines[path]; !known {
		c.lines[path] = n.Line
	}
	t = shapeOf(t)
	return c.once(visit{n, t, ""}, func() bool { return c.fits(n, t, path) })
}

// once checks what was not visited before, and reports whether it fits.
func (c *checker) once(at visit, check func() bool) bool {
	if fits, seen := c.seen[at]; seen {
		return fits
	}
	c.seen[at] = true
	c.seen[at] = check()
	return c.seen[at]
}

func (c *checker) fits(n *yaml.Node, t reflect.Type, path string) bool {
	switch {
	case n.ShortTag() == "!!null":
		return true
	case t.Kind() == reflect.Struct && hasKeys(t):
		return c.walkStruct(n, t, path)
	case t.Kind() == reflect.Map:
		return c.walkMap(n, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !isText(t):
		return c.walkList(n, t, path)
	case t.Kind() == reflect.Interface:
		return true
	}
	return c.leaf(n, t, path)
}

// walkStruct checks a mapping with fixed keys, then lets the type decode it,
// because many types refuse combinations of keys while they decode.
func (c *checker) walkStruct(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.wrong(n, "%s must be a mapping of keys, not %s; known keys: %s", place(path), kindWord(n), knownKeys(keysOf(t)))
		return false
	}
	return c.walkPairs(n, t, path) && (!decodesItself(t) || c.decode(n, t, path))
}

// walkList checks a sequence.
func (c *checker) walkList(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.SequenceNode {
		c.wrong(n, "%s must be a list, not %s; start each entry with \"- \"", place(path), kindWord(n))
		return false
	}
	ok := true
	for i, item := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		if resolve(item).ShortTag() == "!!null" {
			c.wrong(item, "%s is empty; fill it or remove the \"-\"", at)
			ok = false
			continue
		}
		ok = c.walk(item, t.Elem(), at) && ok
	}
	return ok && (!decodesItself(t) || c.decode(n, t, path))
}

// leaf checks a value without keys of its own.
func (c *checker) leaf(n *yaml.Node, t reflect.Type, path string) bool {
	if n = resolve(n); n.Kind != yaml.ScalarNode {
		c.wrong(n, "%s must be %s, not %s", path, typeWord(t), kindWord(n))
		return false
	}
	if n.ShortTag() == "!!float" && isWhole(t) {
		c.wrong(n, "%s: %q is not %s", path, n.Value, typeWord(t))
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
	c.wrong(n, "%s: %s", path, decodeMessage(err, n, t))
	return false
}

// isWhole reports whether a type holds whole numbers, which the decoder would
// cut out of fractions.
func isWhole(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && !decodesItself(t) && !isText(t)
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
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
