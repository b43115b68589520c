package config

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

func (c *checker) walkFixed(n *yaml.Node, t reflect.Type, path string) bool {
	keys := keysOf(t)
	return c.walkEntries(
		n,
		t,
		path,
		func(key *yaml.Node, lines map[string]int) reflect.Type { return c.fieldType(key, keys, lines, path) },
	)
}

// walkEntries checks the keys and values of a mapping of type t. The function valueType receives
// the lines of the preceding keys and returns the type of a key's value, nil if the key is
// invalid.
func (c *checker) walkEntries(
	n *yaml.Node,
	t reflect.Type,
	path string,
	valueType func(key *yaml.Node, lines map[string]int) reflect.Type,
) bool {
	lines := map[string]int{}
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			ok = c.walkMerge(value, t, path) && ok
			continue
		}
		field := valueType(key, lines)
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

// fieldType returns the type of a key's value, nil if the key is invalid.
func (c *checker) fieldType(key *yaml.Node, keys *keySet, lines map[string]int, path string) reflect.Type {
	field, declared := keys.fields[key.Value]
	switch {
	case key.Kind != yaml.ScalarNode, declared && key.ShortTag() != "!!str":
		// The decoder would read another name than the checker.
		c.add(key, "a key in %s must be plain text; write it without alias (*), tag (!) or brackets", describe(path))
		return nil
	case c.isDuplicate(key, lines, path):
		return nil
	case declared:
		return field
	case keys.otherType == nil:
		c.add(key, "unknown key %q in %s%s", key.Value, describe(path), hint(key.Value, path, keys))
	}
	return keys.otherType
}

// isDuplicate reports whether a mapping already has the key; lines holds the lines of its keys.
func (c *checker) isDuplicate(key *yaml.Node, lines map[string]int, path string) bool {
	line, duplicate := lines[key.Value]
	if duplicate {
		c.add(key, "key %q in %s is already set on line %d; remove one of the two", key.Value, describe(path), line)
		return true
	}
	lines[key.Value] = key.Line
	return false
}

// walkMerge checks the mappings that a merge key ("<<") merges into a mapping of type t.
func (c *checker) walkMerge(n *yaml.Node, t reflect.Type, path string) bool {
	n = resolve(n)
	return c.visit(visit{n, t, path}, func() bool {
		switch {
		case n.Kind == yaml.SequenceNode:
			ok := true
			for _, item := range n.Content {
				ok = c.walkMerge(item, t, path) && ok
			}
			return ok
		case n.Kind != yaml.MappingNode:
			c.add(n, "%s: a merge key (<<) takes a mapping, not %s", describe(path), kindWord(n))
			return false
		case t.Kind() == reflect.Map:
			return c.walkMap(n, t, path)
		}
		return c.walkFixed(n, t, path)
	})
}

func (c *checker) walkMap(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.MappingNode {
		c.add(n, "%s must be a mapping, not %s; write it as name: value", describe(path), kindWord(n))
		return false
	}
	return c.walkEntries(n, t, path, func(key *yaml.Node, lines map[string]int) reflect.Type {
		if c.isDuplicate(key, lines, path) || !c.leaf(key, t.Key(), join(path, key.Value)) {
			return nil
		}
		return t.Elem()
	})
}
