package alerts

import (
	"regexp"
	"strings"
	"sync"
)

// Entry is a section of the runbook: what is seen, what it means, what to look at
// first and what to do, in Markdown of one line each.
type Entry struct {
	// Name is the name of the alert.
	Name, Symptom, Meaning, Cure string
	Checks                       []string
}

// Anchor is the name of the section in an address.
func (e *Entry) Anchor() string { return strings.ToLower(e.Name) }

// Runbook returns the sections of runbook.md in their order. The slice is shared and only
// read.
func Runbook() []Entry { return runbook() }

// EntryOf returns the section about an alert; nil where there is none.
func EntryOf(alert string) *Entry {
	all := runbook()
	for i := range all {
		if all[i].Name == alert {
			return &all[i]
		}
	}
	return nil
}

// check is an item of a numbered list.
var check = regexp.MustCompile(`^\d+\. `)

// runbook reads the file that is embedded, once.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var runbook = sync.OnceValue(func() []Entry {
	text, _ := files.ReadFile("runbook.md") // It is embedded.
	var all []Entry
	var into *string // What the line goes on with.
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, heads := strings.CutPrefix(line, "### "); heads {
			all, into = append(all, Entry{Name: name}), nil
		}
		if len(all) == 0 {
			continue
		}
		e := &all[len(all)-1]
		lead, rest, _ := strings.Cut(line, "** ")
		switch {
		case lead == "**Symptom.":
			e.Symptom, into = rest, &e.Symptom
		case lead == "**Meaning.":
			e.Meaning, into = rest, &e.Meaning
		case lead == "**Cure.":
			e.Cure, into = rest, &e.Cure
		case check.MatchString(line):
			e.Checks = append(e.Checks, check.ReplaceAllString(line, ""))
			into = &e.Checks[len(e.Checks)-1]
		case line == "":
			into = nil
		case into != nil:
			*into += " " + line
		}
	}
	return all
})
