package engine

import (
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Match selects series by the value of a label; an absent label has an empty value.
type Match struct {
	Label, Value string
	Method       Method
}

// Method is how a [Match] compares values.
type Method string

// Methods.
const (
	Equals     Method = "="
	Differs    Method = "!="
	StartsWith Method = "=*"
)

// only selects series with one value of a label.
func only(label, value string) []Match { return []Match{{label, value, Equals}} }

// except selects series with none of the values of a label.
func except(label string, values ...string) []Match {
	all := make([]Match, len(values))
	for i, value := range values {
		all[i] = Match{label, value, Differs}
	}
	return all
}

// begins selects series with a label whose value begins with a prefix.
func begins(label, prefix string) []Match { return []Match{{label, prefix, StartsWith}} }

// present selects series that have all these labels, absent those without a label.
func present(names ...string) []Match {
	all := make([]Match, len(names))
	for i, name := range names {
		all[i] = Match{name, "", Differs}
	}
	return all
}

func absent(label string) []Match { return only(label, "") }

// Selects reports whether a series matches.
func (m *Match) Selects(lset labels.Labels) bool { return m.takes(lset.Get(m.Label)) }

// takes reports whether a value of the label matches.
func (m *Match) takes(value string) bool {
	switch m.Method {
	case Differs:
		return value != m.Value
	case StartsWith:
		return strings.HasPrefix(value, m.Value)
	case Equals:
	}
	return value == m.Value
}

// String returns the match as documents show it.
func (m Match) String() string {
	if m.Method == StartsWith {
		return m.Label + "=" + m.Value + "*"
	}
	return m.Label + string(m.Method) + m.Value
}

// Exception says when a series has no meaning although its name has: another name replaces it, as
// newer releases show a quantity next to its old name, or the version of the server counts wrongly.
type Exception struct {
	Name string
	// AnyModel is true if the name replaces the series of every model, not only of its own.
	AnyModel bool
	// Mark is true if the name only marks the releases in which the series has no meaning.
	Mark bool
	// Lacking is true if the series has no meaning where the name is not on the page.
	Lacking bool
	// Version is the prefix of versions, empty for a name.
	Version string
}

// replacedBy lists names that replace a series if the page shows them for its model.
func replacedBy(names ...string) []Exception {
	all := make([]Exception, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// replacedForAny lists names that replace a series if the page shows them for any model: an engine
// inside may name the model differently.
func replacedForAny(names ...string) []Exception {
	all := replacedBy(names...)
	for i := range all {
		all[i].AnyModel = true
	}
	return all
}

// inReleasesWith lists names that only releases show which count wrongly.
func inReleasesWith(names ...string) []Exception {
	all := replacedForAny(names...)
	for i := range all {
		all[i].Mark = true
	}
	return all
}

// inReleasesWithout lists names that only releases show in which the series has the meaning.
func inReleasesWithout(names ...string) []Exception {
	all := inReleasesWith(names...)
	for i := range all {
		all[i].Lacking = true
	}
	return all
}

// inVersions lists prefixes of versions that count wrongly.
func inVersions(prefixes ...string) []Exception {
	all := make([]Exception, len(prefixes))
	for i, prefix := range prefixes {
		all[i].Version = prefix
	}
	return all
}

// String returns the exception as documents show it.
func (e Exception) String() string {
	switch {
	case e.Version != "":
		return "version " + e.Version
	case e.Lacking:
		return "releases without " + e.Name
	case e.Mark:
		return "releases with " + e.Name
	case e.AnyModel:
		return "any " + e.Name
	}
	return e.Name
}

// Dim is a label that is kept, by the server's name and by ours.
type Dim struct{ Theirs, Ours string }

// kept lists labels that keep their names.
func kept(names ...string) []Dim {
	all := make([]Dim, len(names))
	for i, name := range names {
		all[i] = Dim{name, name}
	}
	return all
}

// renamed returns a label that has another name with us.
func renamed(theirs, ours string) []Dim { return []Dim{{theirs, ours}} }

// String returns the label as documents show it.
func (d Dim) String() string {
	if d.Theirs == d.Ours {
		return d.Ours
	}
	return d.Theirs + "=" + d.Ours
}

// Label is a label that a series gets from its meaning.
type Label struct{ Name, Value string }

// labeled returns a label.
func labeled(name, value string) Label { return Label{name, value} }

// String returns the label as documents show it, empty without one.
func (l Label) String() string {
	if l.Name == "" {
		return ""
	}
	return l.Name + "=" + l.Value
}
