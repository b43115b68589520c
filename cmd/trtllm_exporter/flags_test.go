package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestFlagsAreDocumented compares docs/flags.md with the flags of the program. -update
// writes it.
func TestFlagsAreDocumented(t *testing.T) {
	app, _, _ := commandLine(io.Discard, io.Discard)
	fixture.RequireFile(t, "../../docs/flags.md", flagsDocument(app.Model()))
}

// flagsDocument returns a section per command, with the flags that no earlier section lists.
func flagsDocument(app *kingpin.ApplicationModel) string {
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./cmd/trtllm_exporter -run Flags -update`. -->\n# Flags\n\n")
	b.WriteString("As `trtllm_exporter --help-long` prints them, with defaults, or placeholders in capitals. The " +
		"default command is `serve`.\n\n## Every command\n")
	seen := map[string]bool{"help": true, "help-long": true, "help-man": true}
	writeFlags(&b, app.Flags, seen)
	for _, c := range app.Commands {
		if c.Hidden || c.Name == "help" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", c.Name, c.Help)
		writeFlags(&b, c.Flags, seen)
	}
	return b.String()
}

// writeFlags writes a list of new flags, and the names of earlier ones.
func writeFlags(b *strings.Builder, flags []*kingpin.FlagModel, seen map[string]bool) {
	var again, items []string
	for _, f := range flags {
		key := f.Name + f.Help + strings.Join(f.Default, ",")
		switch {
		case f.Hidden || seen[f.Name]:
		case seen[key]:
			again = append(again, "`--"+f.Name+"`")
		default:
			seen[key] = true
			items = append(items, item(f))
		}
	}
	if len(items) > 0 {
		b.WriteString("\n" + strings.Join(items, ""))
	}
	if len(again) > 0 {
		slices.Sort(again)
		b.WriteString("\nAlso: " + strings.Join(again, ", ") + ".\n")
	}
}

func item(f *kingpin.FlagModel) string {
	name, value := "`--"+f.Name, strings.Join(f.Default, ",")
	switch {
	case !f.IsBoolFlag():
		name += "=" + cmp.Or(value, f.PlaceHolder, "VALUE") + "`"
	case value != "":
		name += "` (default `" + value + "`)"
	default:
		name += "`"
	}
	return "- " + name + ": " + f.Help + "\n"
}
