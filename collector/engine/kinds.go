package engine

import (
	"slices"
)

// Kinds are the kinds of servers that targets may be of: the built-in ones, and those that a file
// declares or extends. They do not change and are safe for concurrent use; nil are the built-in ones.
type Kinds struct {
	// builtIn are the built-in kinds, or with what a file adds to them, and declared those of the file,
	// each in the order of their names.
	builtIn, declared []*Kind
	// text is what they were declared with.
	text string
}

// BuiltIn returns the built-in kinds.
func BuiltIn() *Kinds { return nil }

// All returns every kind, the built-in ones first.
func (ks *Kinds) All() []*Kind {
	if ks == nil {
		return All()
	}
	return slices.Concat(ks.builtIn, ks.declared)
}

func (ks *Kinds) declaredKinds() []*Kind {
	if ks == nil {
		return nil
	}
	return ks.declared
}

// Declared returns the kinds that a file declares, and those that it adds series to.
func (ks *Kinds) Declared() []*Kind {
	return slices.DeleteFunc(ks.All(), func(k *Kind) bool { return k.declaration == "" })
}

// Named returns the named kind; ok is false for "auto", "unknown" and misspelled names.
func (ks *Kinds) Named(name string) (k *Kind, ok bool) {
	if ks == nil {
		return ByName(name)
	}
	all := ks.All()
	i := slices.IndexFunc(all, func(k *Kind) bool { return string(k.Name) == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Names returns the names of all kinds.
func (ks *Kinds) Names() (names []string) {
	for _, k := range ks.All() {
		names = append(names, string(k.Name))
	}
	return names
}

// Equal reports whether both were declared alike. Kinds that were declared twice are different ones all
// the same, so that what pages of one revealed is not taken for the other's.
func (ks *Kinds) Equal(o *Kinds) bool { return ks.declaration() == o.declaration() }

// Alike reports whether both have a kind of that name, declared alike.
func (ks *Kinds) Alike(o *Kinds, name string) bool {
	mine, known := ks.Named(name)
	other, alsoKnown := o.Named(name)
	return known && alsoKnown && mine.declaration == other.declaration
}

func (ks *Kinds) declaration() string {
	if ks == nil {
		return ""
	}
	return ks.text
}
