package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// checker walks a parsed document along the Go types that it is decoded into and records what
// does not fit, with line and path of the key. The strict decoder of the YAML package finds the
// same mistakes, but names Go types instead of keys and stops at the first mistake that is not
// about types.
type checker struct {
	problems problems
	// lines holds the line of every key, by path.
	lines map[string]int
	// visits caches the result of each visit, so that a node with several aliases is visited once.
	visits map[visit]bool
}

// visit identifies the check of a node against a type.
type visit struct {
	node *yaml.Node
	typ  reflect.Type
	// into is the path of the mapping that the node is merged into, if any.
	into string
}

func (c *checker) add(n *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, &problem{line: n.Line, text: fmt.Sprintf(format, args...)})
}

// walk checks that node fits type t and reports whether it does.
func (c *checker) walk(n *yaml.Node, t reflect.Type, path string) bool {
	n = resolve(n)
	if _, ok := c.lines[path]; !ok {
		c.lines[path] = n.Line
	}
	t = writtenType(t)
	return c.visit(visit{n, t, ""}, func() bool { return c.fits(n, t, path) })
}

// visit returns the result of check, which it calls only the first time.
func (c *checker) visit(v visit, check func() bool) bool {
	if fits, visited := c.visits[v]; visited {
		return fits
	}
	c.visits[v] = true
	c.visits[v] = check()
	return c.visits[v]
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

// walkStruct checks a mapping with fixed keys, then decodes it if the type decodes itself: many
// such types reject combinations of keys.
func (c *checker) walkStruct(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.add(
			n,
			"%s must be a mapping of keys, not %s; known keys: %s",
			describe(path),
			kindWord(n),
			knownKeys(keysOf(t)),
		)
		return false
	}
	return c.walkFixed(n, t, path) && (!decodesItself(t) || c.decode(n, t, path))
}

func (c *checker) walkList(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.SequenceNode {
		c.add(n, "%s must be a list, not %s; start each entry with \"- \"", describe(path), kindWord(n))
		return false
	}
	ok := true
	for i, item := range n.Content {
		itemPath := path + "[" + strconv.Itoa(i) + "]"
		if resolve(item).ShortTag() == "!!null" {
			c.add(item, "%s is empty; fill it or remove the \"-\"", itemPath)
			ok = false
			continue
		}
		ok = c.walk(item, t.Elem(), itemPath) && ok
	}
	return ok && (!decodesItself(t) || c.decode(n, t, path))
}

func (c *checker) leaf(n *yaml.Node, t reflect.Type, path string) bool {
	if n = resolve(n); n.Kind != yaml.ScalarNode {
		c.add(n, "%s must be %s, not %s", path, typeWord(t), kindWord(n))
		return false
	}
	if n.ShortTag() == "!!float" && isWhole(t) {
		c.add(n, "%s: %q is not %s", path, n.Value, typeWord(t))
		return false
	}
	return c.decode(n, t, path)
}

func (c *checker) decode(n *yaml.Node, t reflect.Type, path string) bool {
	err := n.Decode(reflect.New(t).Interface())
	if err == nil {
		return true
	}
	c.add(n, "%s: %s", path, decodeMessage(err, n, t))
	return false
}

// isWhole reports whether a type is an integer, to which the decoder would truncate fractions.
func isWhole(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && !decodesItself(t) && !isText(t)
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// join appends a key to the path of its mapping, quoted if it is not a plain word.
func join(path, key string) string {
	special := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }
	switch {
	case key == "" || strings.ContainsFunc(key, special):
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}

// describe names a mapping in a message.
func describe(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}
