// Package config owns the YAML document: its types and defaults, strict decoding, validation,
// error messages that name the key and the remedy, and printing without secrets. Keys that
// concern a single package are declared in that package. The package must know neither how
// anything runs nor kinds of servers by name.
//
// Begin reading at Parse: check.go reads the document, validate.go checks the values.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// maxFileSize limits the size of a document. It has room for ten thousand pools.
const maxFileSize = 16 << 20

// File is the whole document. Load, Parse and FromTargets return it validated and with defaults;
// it must not be changed afterwards.
type File struct {
	Global     Global            `yaml:"global"`
	Identity   IdentityLabels    `yaml:"identity"`
	Sharding   Sharding          `yaml:"sharding"`
	Pools      []Pool            `yaml:"pools"`
	Exposition exposition.Config `yaml:"exposition"`
	// KindsFiles are files that declare kinds of servers, and Kinds all that there are.
	KindsFiles FileNames     `yaml:"kinds_file,omitempty"`
	Kinds      *engine.Kinds `yaml:"-"`
}

// DefaultFile is the default document.
var DefaultFile = File{
	Global:     DefaultGlobal,
	Identity:   DefaultIdentityLabels,
	Sharding:   DefaultSharding,
	Exposition: exposition.DefaultConfig,
}

// Resolve sets the interval and timeout of pools that set none. It must be called once, after
// decoding and before Validate.
func (f *File) Resolve() {
	for i := range f.Pools {
		f.Pools[i].resolve(&f.Global)
		f.Pools[i].Kinds = f.Kinds
	}
}

// Load reads and validates the document in a file. Relative file names in it are
// relative to the directory of the file. The error has one line per mistake. Further checks get each
// pool, also one with mistakes, and return errors that begin with a key of the pool.
func Load(path string, further ...func(*Pool) error) (*File, error) {
	text, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text, further...)
}

// Read returns the text of a document, up to the first bytes that are too many for one.
func Read(path string) ([]byte, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return text, nil
}

// maxReadTime is how long the writer of a pipe, such as a program that generates the document, may take.
const maxReadTime = 5 * time.Second

// ReadFile returns the text of a file, up to the first bytes that are too many for a document. It does not
// wait for a pipe that nobody writes.
func ReadFile(name string) ([]byte, error) {
	in, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w; give the name of a readable file", err)
	}
	defer func() { _ = in.Close() }()                   // Nothing was written.
	_ = in.SetReadDeadline(time.Now().Add(maxReadTime)) // An ordinary file has none, and needs none.
	text, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("%w; give the name of a readable file", err)
	}
	return text, nil
}

// Parse reads and validates a document. Errors begin with name, and relative file names in the
// document are relative to its directory. All mistakes are reported at once, whatever their kind,
// but none that may only follow from another: see followsFrom.
func Parse(name string, text []byte, further ...func(*Pool) error) (*File, error) {
	root, second, broken := parseDocument(text, "pools")
	if broken != nil {
		return nil, broken.err(name)
	}
	if other := resemblance(root); other != nil {
		return nil, other.err(name)
	}
	check, f := newChecker(), DefaultFile
	check.problems = second
	check.read(root, reflect.ValueOf(&f).Elem(), "")
	if check.repeated > maxRepeated {
		return nil, problems{{text: excessive + advice(excessive)}}.err(name)
	}
	check.loadKinds(&f, filepath.Dir(name))
	f.Resolve()
	for i := range f.Pools {
		f.Pools[i].setDirectory(filepath.Dir(name))
	}
	check.validate(&f, further)
	if len(check.problems) > 0 {
		for _, mistake := range check.problems {
			mistake.text = check.secrets.HideInData(mistake.text)
		}
		return nil, check.problems.err(name)
	}
	return &f, nil
}

// parseDocument parses a text, which needs at least one key.
func parseDocument(text []byte, key string) (root *yaml.Node, second, broken problems) {
	if len(text) > maxFileSize {
		return nil, nil, problems{{text: fmt.Sprintf("the file is larger than %d MiB; move targets to "+
			"file_sd_configs", maxFileSize>>20)}}
	}
	if !utf8.Valid(text) {
		line := firstLine(string(text), func(line string) bool { return !utf8.ValidString(line) })
		return nil, nil, problems{{line: line, text: "not valid UTF-8; save the file as UTF-8"}}
	}
	return tree(text, key)
}

// tree parses the text. It must be a single document; a second one is a mistake among others.
func tree(text []byte, key string) (root *yaml.Node, second, broken problems) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && doc.Content[0].ShortTag() == "!!null":
		return nil, nil, problems{{text: "the file is empty; it needs at least " + key}}
	case err != nil:
		return nil, nil, problems{syntaxProblem(err, string(text))}
	}
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil, nil
	case err != nil:
		return nil, nil, problems{syntaxProblem(err, string(text))}
	}
	return doc.Content[0], problems{{
		line: next.Line,
		text: "a second document starts here; put everything into one and remove the line ---",
	}}, nil
}
