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

// keySet holds the keys that a mapping may have.
type keySet struct {
	// The type of each key's value.
	fields map[string]reflect.Type
	// The keys in the order of their struct.
	order []string
	// The type of all other values, nil when no other key is allowed.
	rest reflect.Type
}

// keysOf reads the keys of a struct type off its yaml tags, those of inlined
// structs included.
func keysOf(t reflect.Type) *keySet {
	set := &keySet{fields: map[string]reflect.Type{}}
	set.collect(t)
	return set
}

func (k *keySet) collect(t reflect.Type) {
	for f := range t.Fields() {
		tag := f.Tag.Get("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.PkgPath != "" && !f.Anonymous, name == "-":
		case slices.Contains(strings.Split(options, ","), "inline"):
			inlined := shapeOf(f.Type)
			if inlined.Kind() == reflect.Map {
				k.rest = inlined.Elem()
				continue
			}
			k.collect(inlined)
		default:
			if _, known := k.fields[name]; !known {
				k.order = append(k.order, name)
			}
			k.fields[name] = f.Type
		}
	}
}

// hasKeys reports whether a struct is written as a mapping with fixed keys; those
// without a yaml tag read text on their own.
func hasKeys(t reflect.Type) bool {
	for f := range t.Fields() {
		if _, tagged := f.Tag.Lookup("yaml"); tagged {
			return true
		}
	}
	return false
}

// group is how a targetgroup.Group is written.
type group struct {
	Targets []string       `yaml:"targets"`
	Labels  model.LabelSet `yaml:"labels"`
}

// shapeOf removes pointers, and gives the written form of types that decode
// themselves from another one.
func shapeOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[targetgroup.Group]():
		return reflect.TypeFor[group]()
	case reflect.TypeFor[discovery.Kubernetes]():
		return reflect.TypeOf(discovery.KubernetesBlock()).Elem()
	}
	return t
}

// unmarshaler is the form of decoding that keeps strictness.
type unmarshaler interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]())
}

// isText reports whether a type reads one text although its kind is a list.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// places lists where in the document a key may be, as paths without the
// numbers of list entries; the nearest to the top first.
func places(key string) []string {
	var found []string
	type step struct {
		t    reflect.Type
		path string
	}
	queue := []step{{reflect.TypeFor[File](), ""}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		t := shapeOf(at.t)
		for t.Kind() == reflect.Slice {
			t, at.path = shapeOf(t.Elem()), at.path+"[]"
		}
		if t.Kind() != reflect.Struct || !hasKeys(t) {
			continue
		}
		keys := keysOf(t)
		for _, name := range keys.order {
			if name == key {
				found = append(found, at.path)
			}
			queue = append(queue, step{keys.fields[name], join(at.path, name)})
		}
	}
	return found
}
