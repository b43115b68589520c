package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// mutant is one change of one place.
type mutant struct {
	room       *room
	file       string
	fn         string
	start, end int
	// text takes the place of the source from start to end.
	text string
}

// apply gives the changed file.
func (m mutant) apply() string {
	src := m.room.sources[m.file]
	return src[:m.start] + m.text + src[m.end:]
}

// line is the number of the line that changes first.
func (m mutant) line() int { return 1 + strings.Count(m.room.sources[m.file][:m.start], "\n") }

// lines are the whole lines that change.
func (m mutant) lines() (before, after string) {
	src := m.room.sources[m.file]
	first := 1 + strings.LastIndexByte(src[:m.start], '\n')
	tail, _, _ := strings.Cut(src[m.end:], "\n")
	return src[first:m.end] + tail, src[first:m.start] + m.text + tail
}

// String shows the change as a diff.
func (m mutant) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s:%d %s", m.room.dir, m.file, m.line(), m.fn)
	before, after := m.lines()
	for _, side := range []string{"-" + before, "+" + after} {
		for line := range strings.Lines(side[1:]) {
			if strings.TrimSpace(line) != "" {
				fmt.Fprintf(&b, "\n    %s%s", side[:1], strings.TrimRight(line, "\n"))
			}
		}
	}
	return b.String()
}

// name is what a list of equivalent mutants calls this one: the line that it
// makes, and no number, so that the list stays right when code moves.
func (m mutant) name() string {
	before, after := m.lines()
	if strings.TrimSpace(after) == "" {
		after = "without " + before
	}
	return m.room.dir + "/" + m.file + " " + m.fn + ": " + strings.Join(strings.Fields(after), " ")
}

// readEquivalent reads names of mutants that no test can kill, for they behave
// as the code does; the reason is behind a #.
func readEquivalent(file string) (map[string]bool, error) {
	names := map[string]bool{}
	if file == "" {
		return names, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " # ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: no reason is given for %q", file, line)
		}
		names[strings.TrimSpace(name)] = true
	}
	return names, nil
}

// without leaves equivalent mutants out; a name of none is an error.
func without(all []mutant, dir string, equivalent map[string]bool) ([]mutant, error) {
	used := map[string]bool{}
	left := slices.DeleteFunc(all, func(m mutant) bool {
		used[m.name()] = true
		return equivalent[m.name()]
	})
	for name := range equivalent {
		if file, _, _ := strings.Cut(name, " "); path.Dir(file) == dir && !used[name] {
			return nil, fmt.Errorf("no mutant is called %q: take it off the list", name)
		}
	}
	return left, nil
}
