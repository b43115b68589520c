package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Check returns what is wrong with the constants of the kinds, each with its place. The program asks
// when it starts: a mistake there would show wrong numbers, or none, and nobody would know why. A
// test finds a kind that [All] does not list.
func Check() error { return check(All()) }

func check(kinds []*Kind) error {
	var all []error
	for i, e := range kinds {
		name := cmp.Or(e.Name, "without a name")
		for _, problem := range e.problems(kinds[:i], kinds) {
			all = append(all, fmt.Errorf("kind %s: %s", name, problem))
		}
		for _, problem := range checkMeanings(e.Meanings()) {
			all = append(all, fmt.Errorf("kind %s: %w", name, problem))
		}
	}
	return errors.Join(all...)
}

// problems returns what is wrong with a kind itself, given the kinds that are listed before it and all.
func (k *Kind) problems(before, all []*Kind) (problems []string) {
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	lists := func(kinds []*Kind, name Name) bool {
		return slices.ContainsFunc(kinds, func(other *Kind) bool { return other.Name == name })
	}
	reserved := k.Name == Unknown || k.Name == Name(target.Auto)
	say(k.Name == "", "it needs one, the value of label engine")
	say(reserved || lists(before, k.Name), "another kind has that name, or it is reserved")
	say(!strings.HasPrefix(k.Path, "/"), "its page has the path %q, which does not begin with /", k.Path)
	say(len(k.marks) == 0 && len(k.pagesOf) == 0, "it has no marks, and so no page is recognised as its own")
	for _, name := range k.pagesOf {
		say(!lists(all, name), "it has the page of %s, which is no kind", name)
	}
	for _, name := range k.engines {
		say(!lists(all, name), "it may have %s inside, which is no kind", name)
	}
	return problems
}

func checkMeanings(meanings []Meaning) (all []error) {
	for i, problems := range meaningProblems(meanings) {
		m := &meanings[i]
		for _, problem := range problems {
			all = append(all, fmt.Errorf("series %s as %s: it %s", m.selection(), m.Signal, problem))
		}
	}
	return all
}

// meaningProblems returns what is wrong with each meaning, as ends of sentences.
func meaningProblems(meanings []Meaning) [][]string {
	all := make([][]string, len(meanings))
	named := byName(meanings)
	for i := range meanings {
		m := &meanings[i]
		all[i] = append(m.problems(), m.replacedProblems(named)...)
		earlier := named[m.Name].before(m)
		switch at := slices.IndexFunc(earlier, m.overlaps); {
		case at < 0:
		case slices.Equal(m.Where, earlier[at].Where):
			all[i] = append(all[i], "is listed twice")
		default:
			all[i] = append(all[i], "counts series that "+earlier[at].selection()+" counts already; choose them apart")
		}
	}
	return all
}

// namesakes are meanings of one name, in the order in which they are listed.
type namesakes []*Meaning

// byName returns meanings by their names, since none of another name can count the same series.
func byName(meanings []Meaning) map[string]namesakes {
	all := make(map[string]namesakes)
	for i := range meanings {
		m := &meanings[i]
		all[m.Name] = append(all[m.Name], m)
	}
	return all
}

// before returns those that are listed before one of them.
func (n namesakes) before(m *Meaning) namesakes { return n[:slices.Index(n, m)] }

// replacedProblems returns what is wrong with the names that replace a meaning.
func (m *Meaning) replacedProblems(named map[string]namesakes) (all []string) {
	each := func(o *Meaning) bool { return m.replaces(o) && o.replaces(m) }
	for _, e := range m.Unless {
		switch {
		case e.Name == "" || e.Mark || m.Inside != "": // Of an engine inside it was checked.
		case len(named[e.Name]) == 0:
			all = append(all, "is replaced by "+e.Name+", which the kind does not list: give it a meaning")
		case slices.ContainsFunc(named[e.Name], each):
			all = append(all, "and "+e.Name+" replace each other: on a page with both, neither counts")
		}
	}
	return all
}

// replaces reports whether another meaning yields to the name of this one.
func (m *Meaning) replaces(o *Meaning) bool {
	return m.Signal == o.Signal && m.Name != o.Name && slices.ContainsFunc(o.Unless, func(e Exception) bool {
		return e.Name == m.Name && !e.Mark && e.Version == ""
	})
}

// overlaps reports whether a series could count twice, since both meanings may have it at once.
func (m *Meaning) overlaps(o *Meaning) bool {
	same := m.Name == o.Name && m.Signal == o.Signal && m.Inside == o.Inside
	alike := m.Combine == o.Combine && m.Const == o.Const
	apart := m.Releases.precede(o.Releases) || o.Releases.precede(m.Releases) || m.yieldsTo(o) || o.yieldsTo(m)
	return same && alike && !apart && !slices.ContainsFunc(m.Where, func(match Match) bool {
		return slices.ContainsFunc(o.Where, func(other Match) bool { return match.excludes(&other) })
	})
}

// precede reports whether a meaning is over in the releases that another has.
func (r Releases) precede(later Releases) bool {
	return r.Decide && later.Decide && r.Before != "" && later.From != "" && compare(later.From, r.Before) >= 0
}

// yieldsTo reports whether a name or a version takes the meaning away that the other one needs.
func (m *Meaning) yieldsTo(o *Meaning) bool {
	return slices.ContainsFunc(m.Unless, func(e Exception) bool {
		if e.Version != "" {
			return o.Releases.Decide // Versions are told apart by hand.
		}
		needs := func(other Exception) bool { return other.Name == e.Name && other.Lacking != e.Lacking }
		return slices.ContainsFunc(o.Unless, needs)
	})
}

// selection returns the name of the series and how they are selected.
func (m *Meaning) selection() string {
	if len(m.Where) == 0 {
		return m.Name
	}
	return fmt.Sprintf("%s %s", m.Name, m.Where)
}

// problems returns what is wrong with a meaning, each as the end of a sentence.
func (m *Meaning) problems() (all []string) {
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	known := descriptions()[m.Signal].ofPage
	say(!known, "has a signal that signal.go does not list among those of pages")
	say(!model.LegacyValidation.IsValidMetricName(m.Name), "has a name that no series can have")
	say(m.Shift < 0 || m.Shift > maxShift, "shifts by %d places", m.Shift)
	added := m.Signal.Type().Counter || m.Form() != Single
	say(added && m.Combine != Sum, "grows, so that several add up, and combines them otherwise")
	say(!m.Signal.Adds() && m.Combine == Sum, "is a share or a mean, and adds up several; combine them otherwise")
	say(m.Signal.Type().Counter && m.NotZero, "is a counter, and takes 0 for unknown")
	say(m.Outcome != nil && !m.Signal.Type().Counter, "has an outcome, and does not count")
	say(m.Outcome == nil && m.Signal.ends(), "counts requests that ended, and has no Outcome, which classifies them")
	all = append(all, m.selectionProblems()...)
	return append(all, m.labelProblems()...)
}

// ends reports whether a signal counts requests that ended, so that each needs a class.
func (s Signal) ends() bool {
	switch s { //nolint:exhaustive // The others count something else.
	case ModelSuccess, ModelFailed, RequestsFinished, RequestsFailed, RequestsAborted:
		return true
	}
	return false
}

// maxShift is the longest shift to base units: nanoseconds.
const maxShift = 9

// selectionProblems returns what is wrong with the choice of series.
func (m *Meaning) selectionProblems() (all []string) {
	for i, match := range m.Where {
		switch {
		case !isLabel(match.Label):
			all = append(all, fmt.Sprintf("selects by %q, which no label is called", match.Label))
		case match.Method == StartsWith && match.Value == "":
			all = append(all, fmt.Sprintf("selects %s by an empty prefix, which every value has", match.Label))
		case slices.ContainsFunc(m.Where[:i], func(earlier Match) bool { return match.excludes(&earlier) }):
			all = append(all, fmt.Sprintf("selects values of %s that exclude each other, and no series has both",
				match.Label))
		}
	}
	for _, e := range m.Unless {
		switch {
		case e.Name == "" && e.Version == "":
			all = append(all, "is replaced by an empty name")
		case e.Name == m.Name && e.Lacking:
			all = append(all, "needs itself on the page")
		case e.Name == m.Name:
			all = append(all, "is replaced by itself")
		}
	}
	return all
}

// excludes reports whether no value of a label matches both.
func (m *Match) excludes(other *Match) bool {
	if m.Method == StartsWith && other.Method == StartsWith {
		return m.Label == other.Label && !strings.HasPrefix(m.Value, other.Value) && !strings.HasPrefix(other.Value, m.Value)
	}
	if m.Method != Equals {
		m, other = other, m
	}
	return m.Label == other.Label && m.Method == Equals && !other.takes(m.Value)
}

// labelProblems returns what is wrong with the labels that are read or set.
func (m *Meaning) labelProblems() (all []string) {
	for _, name := range slices.Concat(m.Copies, []string{m.Rank}) {
		if name != "" && !isLabel(name) {
			all = append(all, fmt.Sprintf("reads %q, which no label is called", name))
		}
	}
	// The reason of an outcome may have had another name in earlier releases.
	set := make(map[string]bool)
	give := func(name string) {
		switch {
		case !isLabel(name):
			all = append(all, fmt.Sprintf("sets %q, which no label is called", name))
		case slices.Contains(identity(), name):
			all = append(all, fmt.Sprintf("sets %s, which says whose series it is", name))
		case name == "class" && m.Outcome != nil:
			all = append(all, "sets class, which its outcome sets")
		case set[name] && m.Outcome == nil:
			all = append(all, fmt.Sprintf("sets %s twice", name))
		}
		set[name] = true
	}
	for _, dim := range m.Dims {
		give(dim.Ours)
		if !isLabel(dim.Theirs) {
			all = append(all, fmt.Sprintf("keeps %q, which no label is called", dim.Theirs))
		}
	}
	if m.Const != (Label{}) {
		give(m.Const.Name)
		if m.Const.Value == "" {
			all = append(all, fmt.Sprintf("sets %s to nothing", m.Const.Name))
		}
	}
	return all
}

// isLabel reports whether a server can give its series a label of that name. The bounds of buckets and
// quantiles are parts of one value, and choose no series.
func isLabel(name string) bool {
	return name != model.BucketLabel && name != model.QuantileLabel && name != model.MetricNameLabel &&
		model.LegacyValidation.IsValidLabelName(name)
}

// identity lists the labels that a derived series has from its replica and model.
func identity() []string {
	return []string{
		"engine", "engine_version", "trtllm_version", "pool_id", "replica_id",
		"tier", "model_id", "model", "version", "role",
	}
}
