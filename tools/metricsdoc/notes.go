package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// notes holds texts by section and family, whose name has no prefix. A section is the name of a kind
// of server or everyServer.
type notes map[string]map[string]string

const everyServer = "every server"

// readNotes reads notes about the given families. A line has one or more families and their note.
func readNotes(text string, all []derive.Family) (notes, error) {
	read := make(notes)
	section := ""
	for i, line := range strings.Split(text, "\n") {
		names, note, ok := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "## "):
			section = strings.TrimPrefix(line, "## ")
			read[section] = make(map[string]string)
		case section == "" || line == "":
		case !ok:
			return nil, fmt.Errorf("notes.md, line %d has no family: %s", i+1, line)
		default:
			for name := range strings.SplitSeq(names, ", ") {
				if !slices.ContainsFunc(all, func(f derive.Family) bool { return f.Name == derive.Prefix+name }) {
					return nil, fmt.Errorf("notes.md, line %d: no family is called %s", i+1, name)
				}
				read[section][name] = note
			}
		}
	}
	return read, nil
}

// of returns the note of a family, empty if there is none.
func (n notes) of(section, family string) string {
	return n[section][strings.TrimPrefix(family, derive.Prefix)]
}
