package config

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

// walkPairs checks the keys and values of a mapping with fixed keys.
func (c *checker) walkPairs(n *yaml.Node, t reflect.Type, path string) bool {
	keys := keysOf(t)
	return c.walkEntries(n, t, path, func(key *yaml.Node, set map[string]int) reflect.Type { return c.field(key, keys, set, path) })
}

// walkEntries checks the keys and values of a mapping of type t. What is asked of
// each key gives the type of its value, nil if the key is wrong; set holds the lines
// of the keys before it.
func (c *checker) walkEntries(n *yaml.Node, t reflect.Type, path string, ask func(key *yaml.Node, set map[string]int) reflect.Type) bool {
	set := map[string]int{}
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			ok = c.walkMerge(value, t, path) && ok
			continue
		}
		field := ask(key, set)
		if field == nil {
			ok = false
			continue
		}
		p := join(path, key.Value)
		c.lines[p] = key.Line
		ok = c.walk(value, field, p) && ok
	}
	return ok
}

// field is the type of a key's value; nil if the key is not in its place.
func (c *checker) field(key *yaml.Node, keys *keySet, set map[string]int, path string) reflect.Type {
	field, known := keys.fields[key.Value]
	switch {
	case key.Kind != yaml.ScalarNode, known && key.ShortTag() != "!!str":
		// The decoder would read another name here than the one that is checked.
		c.wrong(key, "a key in %s must be plain text; write it without alias (*), tag (!) or brackets", place(path))
		return nil
	case c.twice(key, set, path):
		return nil
	case known:
		return field
	case keys.rest == nil:
		c.wrong(key, "unknown key %q in %s%s", key.Value, place(path), hint(key.Value, path, keys))
	}
	return keys.rest
}

// twice reports whether a mapping already has a key; set holds the lines of its keys.
func (c *checker) twice(key *yaml.Node, set map[string]int, path string) bool {
	line, twice := set[key.Value]
	if twice {
		c.wrong(key, "key %q in %s is already set on line %d; remove one of the two", key.Value, place(path), line)
		return true
	}
	set[key.Value] = key.Line
	return false
}

// walkMerge checks the mappings that a merge key ("<<") brings into one of type t.
// One that is merged there several times is walked once.
func (c *checker) walkMerge(n *yaml.Node, t reflect.Type, path string) bool {
	n = resolve(n)
	return c.once(visit{n, t, path}, func() bool {
		switch {
		case n.Kind == yaml.SequenceNode:
			ok := true
			for _, item := range n.Content {
				ok = c.walkMerge(item, t, path) && ok
			}
			return ok
		case n.Kind != yaml.MappingNode:
			c.wrong(n, "%s: a merge key (<<) takes a mapping, not %s", place(path), kindWord(n))
			return false
		case t.Kind() == reflect.Map:
			return c.walkMap(n, t, path)
		}
		return c.walkPairs(n, t, path)
	})
}

// walkMap checks a mapping whose keys the operator chooses.
func (c *checker) walkMap(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.wrong(n, "%s must be a mapping, not %s; write it as name: value", place(path), kindWord(n))
		return false
	}
	return c.walkEntries(n, t, path, func(key *yaml.Node, set map[string]int) reflect.Type {
		if c.twice(key, set, path) || !c.leaf(key, t.Key(), join(path, key.Value)) {
			return nil
		}
		return t.Elem()
	})
}
