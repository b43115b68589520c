package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/stretchr/testify/require"
)

// TestFlagsAreDocumented compares docs/flags.md with the flags of the program;
// -update writes it.
func TestFlagsAreDocumented(t *testing.T) {
	const file = "../../docs/flags.md"
	app, _, _ := commandLine(io.Discard, io.Discard)
	made := flagsDocument(app.Model())
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(made), 0o600))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, made, string(text), "run this test with -update")
}

// flagsDocument returns a section for each command, with a table of the flags that no earlier
// section has.
func flagsDocument(app *kingpin.ApplicationModel) string {
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./cmd/trtllm_exporter -run Flags -update`. -->\n# Flags\n\n")
	b.WriteString("Without a command it is `serve`. `trtllm_exporter --help-long` prints the same.\n\n## Every command\n")
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

// writeFlags writes a table of new flags, and names those of earlier sections.
func writeFlags(b *strings.Builder, flags []*kingpin.FlagModel, seen map[string]bool) {
	var again, rows []string
	for _, f := range flags {
		key := f.Name + f.Help + strings.Join(f.Default, ",")
		switch {
		case f.Hidden || seen[f.Name]:
		case seen[key]:
			again = append(again, "`--"+f.Name+"`")
		default:
			seen[key] = true
			rows = append(rows, row(f))
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n" + strings.Join(rows, ""))
	}
	if len(again) > 0 {
		slices.Sort(again)
		b.WriteString("\nAnd, as above: " + strings.Join(again, ", ") + ".\n")
	}
}

func row(f *kingpin.FlagModel) string {
	name, byDefault := "`--"+f.Name, ""
	if !f.IsBoolFlag() && f.PlaceHolder != "" {
		name += "=" + f.PlaceHolder
	}
	if len(f.Default) > 0 {
		byDefault = "`" + strings.Join(f.Default, ",") + "`"
	}
	return fmt.Sprintf("| %s` | %s | %s |\n", name, byDefault, strings.ReplaceAll(f.Help, "|", "\\|"))
}
