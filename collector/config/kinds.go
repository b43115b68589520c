package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// FileNames are names of files: a list, or one name alone.
type FileNames []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *FileNames) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*f = FileNames{one}
		return nil
	}
	type plain FileNames
	return unmarshal((*plain)(f))
}

// kindsDocument is a document that declares kinds of servers.
type kindsDocument struct {
	Kinds []engine.Declaration `yaml:"kinds"`
}

// kindsFile is such a document while it is checked. The first of its kinds has the index first among those
// of all files.
type kindsFile struct {
	name  string
	check *checker
	first int
}

// LoadKinds returns the built-in kinds with those that files declare. The error has one line per mistake.
func LoadKinds(names ...string) (*engine.Kinds, error) {
	kinds, wrong := loadKinds(names)
	if len(wrong) > 0 {
		return nil, wrong.err("")
	}
	return kinds, nil
}

// ParseKinds returns the built-in kinds with those that a text declares. Errors begin with name.
func ParseKinds(name string, text []byte) (*engine.Kinds, error) {
	kinds, wrong := loadFrom([]string{name}, func(string) ([]byte, error) { return text, nil })
	if len(wrong) > 0 {
		return nil, wrong.err("")
	}
	return kinds, nil
}

func loadKinds(names []string) (*engine.Kinds, problems) { return loadFrom(names, ReadFile) }

func loadFrom(names []string, read func(name string) ([]byte, error)) (*engine.Kinds, problems) {
	var files []kindsFile
	var all []engine.Declaration
	var wrong problems
	for _, name := range names {
		doc, check, broken := readKinds(name, read)
		wrong = append(wrong, broken.in(name)...)
		if check != nil {
			files = append(files, kindsFile{name, check, len(all)})
			all = append(all, doc.Kinds...)
		}
	}
	kinds, err := engine.Declare(all)
	for _, err := range flatten(err) {
		locateKind(files, err)
	}
	for i := range files {
		wrong = append(wrong, files[i].check.problems.in(files[i].name)...)
	}
	return kinds, wrong
}

// readKinds reads one file; check is nil if it has no document.
func readKinds(
	name string, read func(name string) ([]byte, error),
) (doc kindsDocument, check *checker, broken problems) {
	text, err := read(name)
	if err != nil {
		return doc, nil, problems{{text: err.Error(), cause: err}}
	}
	root, second, broken := parseDocument(text, "kinds")
	if broken != nil {
		return doc, nil, broken
	}
	check = newChecker()
	check.root = reflect.TypeFor[kindsDocument]()
	check.problems = second
	check.read(root, reflect.ValueOf(&doc).Elem(), "")
	if len(doc.Kinds) == 0 && len(check.problems) == 0 {
		check.add(root, "kinds: none is declared; list them, or leave kinds_file out")
	}
	return doc, check, nil
}

// locateKind adds an error whose key has the index of a kind among those of all files to the file with
// that kind, where it has the index of the file.
func locateKind(files []kindsFile, err error) {
	index, rest, _ := strings.Cut(strings.TrimPrefix(err.Error(), "kinds["), "]")
	n, _ := strconv.Atoi(index)
	for i := len(files) - 1; i >= 0; i-- {
		if f := &files[i]; n >= f.first {
			f.check.locate(&movedError{err, fmt.Sprintf("kinds[%d]%s", n-f.first, rest)})
			return
		}
	}
}

// movedError is an error under another key.
type movedError struct {
	error

	text string
}

func (m *movedError) Error() string { return m.text }

func (m *movedError) Unwrap() error { return m.error }

// loadKinds reads the files of the document with kinds of servers, for its pools.
func (c *checker) loadKinds(f *File, directory string) {
	for i, name := range f.KindsFiles {
		if !filepath.IsAbs(name) {
			f.KindsFiles[i] = filepath.Join(directory, name)
		}
	}
	if len(f.KindsFiles) == 0 {
		return
	}
	kinds, wrong := loadKinds(f.KindsFiles)
	if len(wrong) > 0 {
		for _, mistake := range wrong {
			if mistake.cause != nil && mistake.line == 0 { // No file was read, so that the mistake is in this document.
				mistake.document, mistake.line = "", c.lines["kinds_file"]
				mistake.text = "kinds_file: " + mistake.text
			}
		}
		c.problems = append(c.problems, wrong...)
		c.refuse("kinds_file")
		return
	}
	f.Kinds = kinds
}

// DeclaresKinds reports whether a text is a document that declares kinds of servers, or should be one: the keys of a
// kind may stand in it without the list around it.
func DeclaresKinds(text []byte) bool {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	keys := make(map[string]bool)
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		keys[doc.Content[0].Content[i].Value] = true
	}
	return (keys["kinds"] || keys["kind"] || keys["series"] || keys["extends"]) && !keys["pools"]
}

// Contents returns the text of a document and of the files with kinds that it names, nil if one of them
// cannot be read.
func Contents(name string) []byte {
	text, err := ReadFile(name)
	if err != nil {
		return nil
	}
	var doc struct {
		KindsFiles yaml.Node `yaml:"kinds_file"`
	}
	if yaml.Unmarshal(text, &doc) != nil {
		return text // The mistake is the same whatever the other files have.
	}
	names := []string{doc.KindsFiles.Value}
	for _, n := range doc.KindsFiles.Content {
		names = append(names, n.Value)
	}
	for _, kinds := range names {
		if kinds == "" {
			continue
		}
		if !filepath.IsAbs(kinds) {
			kinds = filepath.Join(filepath.Dir(name), kinds)
		}
		more, err := ReadFile(kinds)
		if err != nil {
			return nil
		}
		text = append(text, more...)
	}
	return text
}

// derivedPrefix begins the names of families, which mean what signals without it do.
const derivedPrefix = "llm_server_"

// meant returns what an unknown word is most likely a typo of, as an end of a sentence.
func meant(err error) string {
	var word string
	var known []string
	if unknown, ok := errors.AsType[*engine.UnknownWordError](err); ok {
		word, known = strings.TrimPrefix(unknown.Word, derivedPrefix), unknown.Known
	}
	if unknown, ok := errors.AsType[*exposition.UnknownGroupError](err); ok {
		word, known = unknown.Name, exposition.EveryGroup().Names()
	}
	return nearestHint(word, known)
}
