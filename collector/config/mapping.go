package config

import (
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// mapping is a mapping while its entries are read, including those merged into it.
type mapping struct {
	path string
	// accept returns where the value of a key goes, and what stores it there after it is read. The
	// value is not valid if the key is not; lines holds the lines of the keys before it.
	accept func(key *yaml.Node, lines map[string]int) (value reflect.Value, store func())
	// order lists the known keys, if they are fixed.
	order []string
	// owners holds the mapping from which each key has its value: itself, else the first that is merged
	// into it and has the key.
	owners map[string]*yaml.Node
	// merged holds what was merged into it, each node once.
	merged map[*yaml.Node]bool
}

// claim makes a mapping the owner of its keys that have none.
func (m *mapping) claim(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; m.owners[key] == nil {
			m.owners[key] = n
		}
	}
}

// readFields reads the entries of a mapping with fixed keys.
func (c *checker) readFields(n *yaml.Node, v reflect.Value, path string) {
	keys := keysOf(v.Type())
	c.readMapping(n, &mapping{
		path:  path,
		order: keys.order,
		accept: func(key *yaml.Node, lines map[string]int) (reflect.Value, func()) {
			return c.field(n, key, v, keys, lines, path)
		},
	})
}

// notMapping says that a block is no mapping whose keys are not fixed.
const notMapping = "%s must be a mapping, not %s; write it as name: value"

// readMap reads a mapping whose keys are not fixed.
func (c *checker) readMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		c.add(n, notMapping, describe(path), kindWord(n))
		c.refuse(path)
		return
	}
	c.readMapping(n, &mapping{
		path: path,
		accept: func(key *yaml.Node, lines map[string]int) (reflect.Value, func()) {
			name := reflect.New(v.Type().Key()).Elem()
			if c.isDuplicate(key, lines, path) || !c.readLeaf(key, name, join(path, key.Value)) {
				return reflect.Value{}, nil
			}
			return entryOf(v, name)
		},
	})
}

// entryOf returns a new value of a map, and what stores it there.
func entryOf(m, key reflect.Value) (value reflect.Value, store func()) {
	value = reflect.New(m.Type().Elem()).Elem()
	return value, func() {
		if m.IsNil() {
			m.Set(reflect.MakeMap(m.Type()))
		}
		m.SetMapIndex(key, value)
	}
}

func (c *checker) readMapping(n *yaml.Node, m *mapping) {
	m.owners, m.merged = map[string]*yaml.Node{}, map[*yaml.Node]bool{}
	c.readEntries(n, m)
}

// readEntries reads the entries of a mapping, or of one that is merged into it.
func (c *checker) readEntries(n *yaml.Node, m *mapping) {
	m.claim(n)
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			c.readMerge(value, m)
			continue
		}
		into, store := m.accept(key, lines)
		if !into.IsValid() {
			continue
		}
		if m.owners[key.Value] != n { // Its mistakes are told all the same.
			into, store = reflect.New(into.Type()).Elem(), nil
		} else {
			c.lines[join(m.path, key.Value)] = key.Line
		}
		c.readValue(key, value, into, m)
		if store != nil {
			store()
		}
	}
}

func (c *checker) readValue(key, value *yaml.Node, into reflect.Value, m *mapping) {
	path := join(m.path, key.Value)
	if m.order != nil && isURLKey(key.Value) && !c.hasScheme(value, path) {
		return
	}
	c.read(value, into, path)
}

// readMerge reads the mappings that a merge key ("<<") merges into a mapping.
func (c *checker) readMerge(n *yaml.Node, m *mapping) {
	n = resolve(n)
	switch {
	case c.open[n]:
		c.add(n, "%s contains itself through an alias; write the values out", describe(m.path))
	case m.merged[n]:
	case n.Kind == yaml.SequenceNode:
		m.merged[n] = true
		for _, item := range n.Content {
			c.readMerge(item, m)
		}
	case n.Kind != yaml.MappingNode:
		c.add(n, "%s: a merge key (<<) takes a mapping, not %s", describe(m.path), kindWord(n))
		for _, key := range m.order {
			if m.owners[key] == nil {
				c.refuse(join(m.path, key))
			}
		}
	default:
		m.merged[n] = true
		c.open[n] = true
		c.readEntries(n, m)
		delete(c.open, n)
	}
}

// field returns where the value of a key of a struct goes. It is not valid if the key is not.
func (c *checker) field(
	n, key *yaml.Node,
	v reflect.Value,
	keys *keySet,
	lines map[string]int,
	path string,
) (value reflect.Value, store func()) {
	index, declared := keys.indexes[key.Value]
	switch {
	case key.Kind != yaml.ScalarNode, declared && key.ShortTag() != "!!str":
		// The decoder would read another name than the checker.
		c.add(key, "a key in %s must be plain text; write it without alias (*), tag (!) or brackets", describe(path))
		c.refuse(join(path, resolve(key).Value))
	case c.isDuplicate(key, lines, path):
	case declared:
		return v.FieldByIndex(index), nil
	case keys.others != nil:
		others := v.FieldByIndex(keys.others)
		return entryOf(others, reflect.ValueOf(key.Value).Convert(others.Type().Key()))
	default:
		hint := c.hint(key.Value, path, keys)
		if isNull(n, key) { // It may be a value, such as a password, and is not repeated.
			c.add(key, "unknown key without a value in %s; write key: value, with a blank after the colon%s",
				describe(path), hint)
		} else {
			c.add(key, "unknown key %q in %s%s", key.Value, describe(path), hint)
		}
		c.refuse(join(path, key.Value))
		for _, meant := range meantBy(key.Value, keys) {
			if !has(n, meant) {
				c.refuse(join(path, meant))
			}
		}
	}
	return reflect.Value{}, nil
}

// isNull reports whether a key of a mapping has no value.
func isNull(n, key *yaml.Node) bool {
	at := slices.Index(n.Content, key)
	return at+1 < len(n.Content) && n.Content[at+1].ShortTag() == "!!null"
}

// has reports whether a mapping has a key.
func has(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
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
