// Command kinds writes the kinds of servers into the sentences of documents that list them, and is then
// run by go generate. With the argument series it prints what each kind reads, for tools/census.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

//go:generate go run . ../..

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kinds:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: kinds ROOT, or kinds series")
	}
	if args[0] == "series" {
		return writeSeries(os.Stdout)
	}
	lists, err := lists()
	if err != nil {
		return err
	}
	for _, l := range lists {
		if err := l.write(args[0]); err != nil {
			return err
		}
	}
	return nil
}

// list is a list of kinds in a file. It begins after a text and ends before a pattern.
type list struct{ file, before, words, after string }

func lists() ([]list, error) {
	products, err := products()
	if err != nil {
		return nil, err
	}
	const fleets = "A Prometheus exporter for fleets of LLM servers: "
	// Units and packages have a summary instead of a sentence.
	const summary = "Prometheus exporter for fleets of LLM servers: "
	return []list{
		{"README.md", fleets, sentence("and", products), `\.`},
		{"deploy/helm/trtllm-exporter/Chart.yaml", fleets, sentence("and", products), `"`},
		{"deploy/docker/Dockerfile", fleets, sentence("and", products), `"`},
		{"deploy/systemd/trtllm_exporter.service", summary, sentence("and", products), `\n`},
		{"deploy/package/nfpm.yaml", "Servers: ", sentence("and", products), `\.`},
		{"docs/configuration.md", "`engine` | `auto` | ", sentence("or", settings()), ";"},
	}, nil
}

// write writes the list into its file.
func (l *list) write(root string) error {
	path := filepath.Join(root, l.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	written, err := l.written(text)
	if err != nil || bytes.Equal(written, text) {
		return err
	}
	return os.WriteFile(path, written, 0o644) //nolint:gosec // It is part of the repository.
}

// written returns the text of the file with the list.
func (l *list) written(text []byte) ([]byte, error) {
	place := regexp.MustCompile("(" + regexp.QuoteMeta(l.before) + ").*?(" + l.after + ")")
	if found := len(place.FindAll(text, -1)); found != 1 {
		return nil, fmt.Errorf("%s: %q is there %d times; write it once", l.file, l.before, found)
	}
	return place.ReplaceAll(text, []byte("${1}"+l.words+"${2}")), nil
}

// products returns the products in the order of tools/matrix, which has servers of every kind and
// begins their names with that of the product.
func products() ([]string, error) {
	var all []string
	missing := engine.All()
	for _, server := range matrix.Servers() {
		product := strings.FieldsFunc(server.Name, func(r rune) bool { return r == ' ' || r == ',' })[0]
		if !slices.Contains(all, product) {
			all = append(all, product)
		}
		missing = slices.DeleteFunc(missing, func(k *engine.Kind) bool { return k.Name == server.Kind })
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no server of tools/matrix is of kind %s; simulate one in collector/simulate, or add one to "+
			"Servers there", missing[0].Name)
	}
	return all, nil
}

// settings returns the values that the key engine of a pool may have.
func settings() []string {
	names := []string{"`auto`"}
	for _, k := range engine.All() {
		names = append(names, "`"+string(k.Name)+"`")
	}
	return append(names, "`"+string(engine.Unknown)+"`")
}

// sentence joins words with commas, and the last two with a word.
func sentence(join string, words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + join + " " + words[last]
}
