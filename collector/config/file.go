// Package config owns the YAML document: its types and defaults, strict reading,
// checks, messages in the operator's words, and printing without secrets. Keys
// that belong to one room are declared there and used here. The package must not
// know how anything runs, nor any kind of server by name.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// maxFileSize bounds a document; ten thousand pools fit.
const maxFileSize = 16 << 20

// File is a whole document: which replicas are scraped, how often and under
// which names, and what is shown of them. It is checked and has its defaults in
// place, and is not changed after Load, Parse or FromTargets gave it out.
type File struct {
	Global     Global            `yaml:"global"`
	Identity   Identity          `yaml:"identity"`
	Sharding   Sharding          `yaml:"sharding"`
	Pools      []Pool            `yaml:"pools"`
	Exposition exposition.Config `yaml:"exposition"`
}

// DefaultFile is a document that sets no key.
var DefaultFile = File{
	Global: DefaultGlobal, Identity: DefaultIdentity, Sharding: DefaultSharding, Exposition: exposition.DefaultConfig,
}

// UnmarshalYAML reads the document over the defaults.
func (f *File) UnmarshalYAML(unmarshal func(any) error) error {
	*f = DefaultFile
	type plain File
	return unmarshal((*plain)(f))
}

// Resolve gives every pool the interval and timeout that it does not set
// itself. Call it once, after decoding and before Validate.
func (f *File) Resolve() {
	for i := range f.Pools {
		f.Pools[i].resolve(&f.Global)
	}
}

// Load reads and checks the document in a file. Relative file names in it start
// at the folder of the file. The error has one line per mistake.
func Load(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w; name a readable file with --config.file", err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return Parse(path, text)
}

// Parse reads and checks a document; name is put in front of every error, and
// relative file names in the document start at its folder. What is wrong between
// keys is looked for when each key is right.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("%s: the file is larger than %d MiB; move targets to file_sd_configs", name, maxFileSize>>20)
	}
	if !utf8.Valid(text) {
		line := firstLine(string(text), func(line string) bool { return !utf8.ValidString(line) })
		return nil, problems{{line: line, text: "not valid UTF-8; save the file as UTF-8"}}.err(name)
	}
	root, err := tree(name, text)
	if err != nil {
		return nil, err
	}
	check := newChecker()
	if !check.walk(root, reflect.TypeFor[File](), "") {
		return nil, check.problems.err(name)
	}
	f := &File{}
	if err := root.Decode(f); err != nil {
		return nil, problems{syntaxProblem(err, "")}.err(name)
	}
	f.Resolve()
	for i := range f.Pools {
		f.Pools[i].setDirectory(filepath.Dir(name))
	}
	if found := locate(f.Validate(), check.lines); len(found) > 0 {
		return nil, found.err(name)
	}
	return f, nil
}

// tree parses the one document of the text.
func tree(name string, text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && doc.Content[0].ShortTag() == "!!null":
		return nil, fmt.Errorf("%s: the file is empty; it needs at least pools", name)
	case err != nil:
		return nil, problems{syntaxProblem(err, string(text))}.err(name)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, problems{syntaxProblem(err, string(text))}.err(name)
	}
	return nil, problems{{line: second.Line, text: "a second document starts here; put everything into one and remove the line ---"}}.err(name)
}
