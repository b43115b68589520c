package alerts

import (
	"regexp"
	"strings"
	"sync"
)

// Entry is the section of the runbook about an alert. Its texts are single lines of Markdown.
type Entry struct {
	Name, Symptom, Meaning, Cure string
	Checks                       []string
	// Chapter is the title of the chapter that the section is in.
	Chapter string
}

// Anchor returns the fragment of the section's URL.
func (e *Entry) Anchor() string { return strings.ToLower(e.Name) }

// Runbook returns the sections of runbook.md in their order. Callers must not modify them.
func Runbook() []Entry { return runbook() }

// EntryOf returns the section about an alert, nil if there is none.
func EntryOf(alert string) *Entry {
	all := runbook()
	for i := range all {
		if all[i].Name == alert {
			return &all[i]
		}
	}
	return nil
}

// check matches an item of a numbered list.
var check = regexp.MustCompile(`^\d+\. `)

// runbook parses the embedded file on first use.
//
//nolint:gochecknoglobals // constant data.
var runbook = sync.OnceValue(func() []Entry {
	text, _ := files.ReadFile("runbook.md") // It is embedded.
	var all []Entry
	var into *string // The text that the next line continues.
	chapter := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, found := strings.CutPrefix(line, "## "); found {
			chapter = title
			continue
		}
		if name, found := strings.CutPrefix(line, "### "); found {
			all, into = append(all, Entry{Name: name, Chapter: chapter}), nil
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
