package exposition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Group is a part of the llm_server_* series that is exposed or not. Each series belongs to one.
type Group uint8

// The groups in the order of the documents.
const (
	GroupCore Group = iota
	GroupModels
	GroupGPU
	GroupVersions
	GroupWindows
	GroupDetails
)

// group has the name of a group in the configuration, and what its series are about.
type group struct{ name, about string }

func groups() []group {
	return []group{
		GroupCore:   {"core", "what the shipped alerts read, and the dashboards Fleet, Latency & SLO and Capacity"},
		GroupModels: {"models", "single models of a server, and the steps of its ensembles"},
		GroupGPU:    {"gpu", "GPUs, their energy, and the host"},
		GroupVersions: {"versions", "what a replica is and answers: capabilities, settings, determinism, versions side " +
			"by side, the canary"},
		GroupWindows: {"windows", "rates, means and percentiles over the window, which PromQL can compute too"},
		GroupDetails: {"details", "what only some servers have, or what explains a number of another group"},
	}
}

// AllGroups returns the groups in the order of the documents.
func AllGroups() []Group {
	return []Group{GroupCore, GroupModels, GroupGPU, GroupVersions, GroupWindows, GroupDetails}
}

// String returns the name of the group in the configuration.
func (g Group) String() string { return groups()[g].name }

// About says in a few words what the series of the group are about.
func (g Group) About() string { return groups()[g].about }

// Groups is a set of groups. The zero value has none. In YAML it is true for all, false for none, or a list.
type Groups uint8

// GroupsOf returns a set.
func GroupsOf(all ...Group) (set Groups) {
	for _, g := range all {
		set |= 1 << g
	}
	return set
}

// EveryGroup returns the set of all groups.
func EveryGroup() Groups { return GroupsOf(AllGroups()...) }

// Has reports whether a group is in the set.
func (s Groups) Has(g Group) bool { return s&(1<<g) != 0 }

// Without returns the groups that are not in the other set.
func (s Groups) Without(other Groups) Groups { return s &^ other }

// BeyondCore returns the groups without [GroupCore].
func (s Groups) BeyondCore() Groups { return s.Without(GroupsOf(GroupCore)) }

// Names returns the names of the groups in the order of the documents.
func (s Groups) Names() (names []string) {
	for _, g := range AllGroups() {
		if s.Has(g) {
			names = append(names, g.String())
		}
	}
	return names
}

// String returns the names, separated by commas.
func (s Groups) String() string { return strings.Join(s.Names(), ", ") }

// UnknownGroupError is a name that no group has.
type UnknownGroupError struct{ Name string }

// Error implements error.
func (u *UnknownGroupError) Error() string {
	return fmt.Sprintf("unknown group %q; use %s", u.Name, EveryGroup())
}

// UnmarshalYAML implements yaml.Unmarshaler: true, false or a list of groups.
func (s *Groups) UnmarshalYAML(unmarshal func(any) error) error {
	var all bool
	if err := unmarshal(&all); err == nil {
		*s = 0
		if all {
			*s = EveryGroup()
		}
		return nil
	}
	var names []string
	if err := unmarshal(&names); err == nil {
		return s.list(names)
	}
	var text string
	if err := unmarshal(&text); err != nil {
		return fmt.Errorf("write true, false or a list of groups: %s", EveryGroup())
	}
	return fmt.Errorf("%q is not true, false or a list of groups: %s", text, EveryGroup())
}

// list sets the set to the named groups.
func (s *Groups) list(names []string) error {
	if len(names) == 0 {
		return errors.New("no group is listed; write false for none, or true for all")
	}
	var listed Groups
	for _, name := range names {
		n := slices.Index(EveryGroup().Names(), name)
		if n < 0 {
			return &UnknownGroupError{name}
		}
		if listed.Has(AllGroups()[n]) {
			return fmt.Errorf("%q is listed twice; name each group once", name)
		}
		listed |= GroupsOf(AllGroups()[n])
	}
	*s = listed
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (s Groups) MarshalYAML() (any, error) {
	if s == 0 || s == EveryGroup() {
		return s != 0, nil
	}
	return s.Names(), nil
}
