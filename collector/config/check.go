package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	promconfig "github.com/prometheus/common/config"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// checker reads a parsed document into Go values and records what does not fit, with line and path
// of the key. The decoder of the YAML package names Go types instead of keys, and stops at the
// first mistake that is not about types. The checker goes on: whatever is wrong keeps its default,
// so that all other keys can be validated too.
type checker struct {
	problems problems
	// root is the type of the document.
	root reflect.Type
	// lines holds the line of every key, by path.
	lines map[string]int
	// refused holds the paths of the keys that do not have the value which the document means.
	refused []string
	// visits holds each node with the type that it was read into, so that the mistakes of a node
	// with several aliases are reported once.
	visits map[visit]bool
	// open holds the nodes that are being read, to find aliases of what contains them.
	open map[*yaml.Node]bool
	// silent is true while a node is read again, whose mistakes are reported already.
	silent bool
	// repeated counts the nodes that were read again.
	repeated int
	// secrets are those that were read: an alias may repeat one elsewhere.
	secrets secret.Store
	// opaque is the error of a value of any type, which belongs to the block around it.
	opaque error
}

// visit identifies the check of a node against a type.
type visit struct {
	node *yaml.Node
	typ  reflect.Type
}

// selfDecoder is a type that decodes itself, usually by decoding its keys first.
type selfDecoder interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

// maxRepeated limits what aliases of aliases may repeat. Ten thousand pools that share all but
// their names are far below it.
const maxRepeated = 1_000_000

func newChecker() *checker {
	return &checker{
		root:   reflect.TypeFor[File](),
		lines:  map[string]int{},
		visits: map[visit]bool{},
		open:   map[*yaml.Node]bool{},
	}
}

func (c *checker) add(n *yaml.Node, format string, args ...any) {
	if !c.silent {
		c.problems = append(c.problems, &problem{line: n.Line, text: fmt.Sprintf(format, args...)})
	}
}

// refuse records that a key has its default because its value in the document is wrong.
func (c *checker) refuse(path string) { c.refused = append(c.refused, path) }

// read reads node into v, as far as it fits.
func (c *checker) read(n *yaml.Node, v reflect.Value, path string) {
	n = resolve(n)
	if _, ok := c.lines[path]; !ok {
		c.lines[path] = n.Line
	}
	if c.open[n] {
		c.add(n, "%s contains itself through an alias; write the values out", describe(path))
		c.refuse(path)
		return
	}
	c.open[n] = true
	defer delete(c.open, n)
	again, silent := visit{n, v.Type()}, c.silent
	c.silent = silent || c.visits[again]
	c.visits[again] = true
	if c.silent {
		c.repeated++
	}
	if c.repeated <= maxRepeated {
		c.fit(n, v, path)
	}
	c.silent = silent
}

func (c *checker) fit(n *yaml.Node, v reflect.Value, path string) {
	switch kind, written := v.Kind(), writtenType(v.Type()); {
	case n.ShortTag() == "!!null":
		if kind == reflect.Interface || kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice {
			v.SetZero()
		}
	case kind == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		c.fit(n, v.Elem(), path)
	case kind == reflect.Struct && written.Kind() == reflect.Interface:
		c.readBlock(n, v, path, nil) // This program lacks the type, which the error says.
	case kind == reflect.Struct && hasKeys(written):
		c.readStruct(n, v, path)
	case kind == reflect.Map:
		c.readMap(n, v, path)
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 && !isText(v.Type()):
		c.readList(n, v, path)
	case kind == reflect.Interface:
		if err := n.Decode(v.Addr().Interface()); err != nil && c.opaque == nil {
			c.opaque = err
		}
	default:
		c.readLeaf(n, v, path)
	}
}

// readStruct reads a mapping with fixed keys.
func (c *checker) readStruct(n *yaml.Node, v reflect.Value, path string) {
	if keys := keysOf(writtenType(v.Type())); n.Kind != yaml.MappingNode {
		if keys.otherType != nil {
			c.add(n, notMapping, describe(path), kindWord(n))
		} else {
			c.add(n, "%s must be a mapping of keys, not %s; known keys: %s", describe(path), kindWord(n), knownKeys(keys))
		}
		c.refuse(path)
		for _, key := range keys.order {
			c.refuse(join(path, key))
		}
		return
	}
	c.readBlock(n, v, path, c.readFields)
}

func (c *checker) readList(n *yaml.Node, v reflect.Value, path string) {
	alone := n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[FileNames]()
	if n.Kind != yaml.SequenceNode && !alone {
		c.add(n, "%s must be a list, not %s; start each entry with \"- \"", describe(path), kindWord(n))
		c.refuse(path)
		return
	}
	c.readBlock(n, v, path, c.readItems)
}

// readBlock reads a mapping or list, by the method of its type if it has one: many such types set
// defaults and reject combinations of keys.
func (c *checker) readBlock(
	n *yaml.Node,
	v reflect.Value,
	path string,
	read func(n *yaml.Node, v reflect.Value, path string),
) {
	self, decodes := reflect.TypeAssert[selfDecoder](v.Addr())
	if !decodes {
		read(n, v, path)
		return
	}
	err := self.UnmarshalYAML(func(into any) error {
		switch v := reflect.ValueOf(into).Elem(); v.Kind() {
		case reflect.Struct, reflect.Slice:
			c.fit(n, v, path)
		default:
			return n.Decode(into)
		}
		err := c.opaque
		c.opaque = nil
		return err
	})
	if err == nil {
		return
	}
	if message := decodeMessage(err, n, v.Type()); c.independent(message, path, writtenType(v.Type())) {
		c.add(n, "%s: %s", path, message)
	}
}

func (c *checker) readItems(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		into, itemPath := v.Index(i), path+"["+strconv.Itoa(i)+"]"
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.New(into.Type().Elem())) // Lists have no nil entries.
		}
		if resolve(item).ShortTag() == "!!null" {
			c.add(item, "%s is empty; fill it or remove the \"-\"", itemPath)
			c.refuse(itemPath)
			continue
		}
		c.read(item, into, itemPath)
	}
}

// readLeaf reads a scalar, or what may be a list instead, and reports whether it fits.
func (c *checker) readLeaf(n *yaml.Node, v reflect.Value, path string) bool {
	n = resolve(n)
	t := v.Type()
	var message string
	switch {
	case n.Kind != yaml.ScalarNode && t != reflect.TypeFor[exposition.Groups]():
		message = fmt.Sprintf("%s must be %s, not %s%s", path, typeWord(t), kindWord(n), instead(n, path))
	case n.ShortTag() == "!!float" && isWhole(t):
		message = fmt.Sprintf("%s: %q is not %s", path, n.Value, typeWord(t))
	default:
		read := reflect.New(t)
		err := n.Decode(read.Interface())
		if err == nil {
			v.Set(read.Elem())
			if t == reflect.TypeFor[promconfig.Secret]() {
				c.secrets.Add(n.Value)
			}
			return true
		}
		message = path + ": " + decodeMessage(err, n, t) + written(n, t) + meant(err)
	}
	c.add(n, "%s", message)
	c.refuse(path)
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
