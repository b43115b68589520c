// Command metricsdoc writes docs/metrics.md from the catalogue of families, the kinds of servers and
// notes.md, and docs/servers.md from tools/matrix. It is run by go generate.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdoc:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

func run(args []string) error {
	const files = 2
	if len(args) != files {
		return errors.New("usage: metricsdoc METRICS SERVERS")
	}
	// A mistake in a kind is told with its place before anything uses it.
	if err := engine.Check(); err != nil {
		return err
	}
	metrics, err := reference()
	if err != nil {
		return err
	}
	servers, err := serversPage()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(args[0], metrics, 0o600), os.WriteFile(args[1], servers, 0o600))
}

// reference returns docs/metrics.md.
func reference() ([]byte, error) {
	all := assess.Catalogue()
	notes, err := readNotes(notesText, all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(head)
	reasonCodes(all).legend(&b)
	sections(&b, all, notes)
	b.WriteString("\n" + sourcesHead)
	if err := sources(&b, all, notes); err != nil {
		return nil, err
	}
	answers(&b, all)
	if err := ownMetrics(&b); err != nil {
		return nil, err
	}
	if err := groups(&b); err != nil {
		return nil, err
	}
	withoutWindowGauges(&b)
	b.WriteString("\n" + checks + "\n" + unknown)
	aliases(&b)
	return b.Bytes(), nil
}

// aliases writes the names of other vocabularies.
func aliases(b *bytes.Buffer) {
	b.WriteString("\n" + aliasesHead)
	for _, set := range exposition.AliasSets() {
		fmt.Fprintf(b, "\n### %s\n\nThe model is in label `%s`.\n\n", set, derive.AliasModelLabel(set))
		b.WriteString("| alias | the same as |\n| --- | --- |\n")
		for _, a := range derive.Aliases() {
			if a.Set != set {
				continue
			}
			fmt.Fprintf(b, "| `%s` | `%s", a.Name, a.From)
			if a.Label != "" {
				fmt.Fprintf(b, "{%s=%q}", a.Label, a.Value)
			}
			for _, name := range a.Renamed {
				fmt.Fprintf(b, "`, label `%s` as `%s", name[0], name[1])
			}
			b.WriteString("` |\n")
		}
		switch name, from := derive.CacheConfig(); set {
		case "vllm":
			fmt.Fprintf(b, "| `%s` | 1", name)
			for _, label := range slices.Sorted(maps.Keys(from)) {
				fmt.Fprintf(b, ", with `%s` as label `%s`", from[label], label)
			}
			b.WriteString(" |\n")
		case "otel":
			b.WriteString("\nThe required attributes are `gen_ai_provider_name`, the kind of server, " +
				"and `gen_ai_operation_name`,\nwhich is `unknown`: no histogram of a server tells which requests " +
				"were chats.\n")
		}
	}
}

// cell escapes a text for a table, in which <name> would be an element of HTML.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s) }

// words formats names as code.
func words(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
