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

	warnings []string
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

// Warnings says, one line each, what the document should write otherwise although
// it is still understood.
func (f *File) Warnings() []string { return f.warnings }

// Resolve gives every pool the interval and timeout that it does not set
// itself. Call it once, after decoding and before Validate.
func (f *File) Resolve() {
	for i := range f.Pools {
		f.Pools[i].resolve(&f.Global)
	}
}

// Load reads and checks the document in a file. Relative file names in it start
// at the folder of the file. The error has one line per mistake.
func Load(path string) (*File, error) { return whole(Inspect(path)) }

// Inspect is Load, and also gives what is left of a document that has mistakes,
// nil if nothing can be read: to look for further mistakes, not to be run.
func Inspect(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w; name a readable file with --config.file", err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return inspect(path, text)
}

// whole gives a document only if it has no mistake.
func whole(f *File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Parse reads and checks a document; name is put in front of every error, and
// relative file names in the document start at its folder.
func Parse(name string, text []byte) (*File, error) { return whole(inspect(name, text)) }

// inspect is Parse, and also gives what is left of a document that has mistakes.
func inspect(name string, text []byte) (*File, error) {
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
	check.walk(root, reflect.TypeFor[File](), "")
	if len(check.problems) > 0 {
		left, more := check.rest(name, root)
		return left, append(check.problems, more...).err(name)
	}
	f, err := check.file(name, root)
	if err != nil {
		return nil, err
	}
	return f, locate(f.Validate(), check.lines).err(name)
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

// file fills a File. The checker is the one judge of keys and types: it walked
// everything that is decoded here and let each type read its part already.
func (c *checker) file(name string, root *yaml.Node) (*File, error) {
	f := &File{}
	if err := root.Decode(f); err != nil {
		return nil, problems{syntaxProblem(err, "")}.err(name)
	}
	f.warnings = c.warnings.lines(name)
	f.Resolve()
	for i := range f.Pools {
		f.Pools[i].setDirectory(filepath.Dir(name))
	}
	return f, nil
}
