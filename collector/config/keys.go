package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// keySet is the set of keys that a mapping may have.
type keySet struct {
	// fields holds the type of each key's value, and indexes where the struct has it.
	fields  map[string]reflect.Type
	indexes map[string][]int
	// order lists the keys in the order of the struct.
	order []string
	// otherType is the type of the values of any other key, nil if none is allowed, and others where
	// the struct has their map.
	otherType reflect.Type
	others    []int
}

// keysOf returns the keys of a struct type from its yaml tags, including those of inlined structs.
func keysOf(t reflect.Type) *keySet {
	set := &keySet{fields: map[string]reflect.Type{}, indexes: map[string][]int{}}
	set.collect(t, nil)
	return set
}

// collect adds the keys of a struct type that is at index of the outermost one.
func (k *keySet) collect(t reflect.Type, index []int) {
	for f := range t.Fields() {
		index := slices.Concat(index, f.Index)
		tag := f.Tag.Get("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.PkgPath != "" && !f.Anonymous, name == "-":
		case slices.Contains(strings.Split(options, ","), "inline"):
			inlined := writtenType(f.Type)
			if inlined.Kind() == reflect.Map {
				k.otherType, k.others = inlined.Elem(), index
				continue
			}
			k.collect(inlined, index)
		default:
			if _, ok := k.fields[name]; !ok {
				k.order = append(k.order, name)
			}
			k.fields[name], k.indexes[name] = f.Type, index
		}
	}
}

// hasKeys reports whether a struct is written as a mapping with fixed keys. A struct without yaml
// tags decodes text itself.
func hasKeys(t reflect.Type) bool {
	for f := range t.Fields() {
		if _, tagged := f.Tag.Lookup("yaml"); tagged {
			return true
		}
	}
	return false
}

// group is the written form of a targetgroup.Group.
type group struct {
	Targets []string       `yaml:"targets"`
	Labels  model.LabelSet `yaml:"labels"`
}

// writtenType returns the type without pointers, or its written form if it decodes itself via
// another type.
func writtenType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[targetgroup.Group]():
		return reflect.TypeFor[group]()
	case reflect.TypeFor[discovery.Kubernetes]():
		if block := discovery.KubernetesBlock(); block != nil {
			return reflect.TypeOf(block).Elem()
		}
		return reflect.TypeFor[any]()
	}
	return t
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalYAML(func(any) error) error }]())
}

// isText reports whether a type decodes itself from text, regardless of its kind.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// parentsOf returns the paths of the mappings below path, which has type t, in which a key is
// allowed, without the indexes of list entries.
func parentsOf(key string, t reflect.Type, path string) (parents []string) {
	switch t = writtenType(t); {
	case t.Kind() == reflect.Slice:
		return parentsOf(key, t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct || !hasKeys(t):
		return nil
	}
	keys := keysOf(t)
	for _, name := range keys.order {
		if name == key {
			parents = append(parents, path)
		}
		parents = append(parents, parentsOf(key, keys.fields[name], join(path, name))...)
	}
	return parents
}
