package words_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the project's folder.
const root = "../.."

// rule is a wording to avoid, ready for use.
type rule struct {
	*regexp.Regexp

	instead string
}

// compile makes the pattern of a wording: whole words in any case, and any
// space or mark of a comment where the wording has a blank.
func compile(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(pattern, " ", `\s+(?:(?://|#|\*)\s*)?`) + `)\b`)
}

// rules are the list, ready for use, and fine what is allowed in spite of it.
var (
	rules = func() (all []rule) {
		for _, a := range list {
			all = append(all, rule{compile(a.pattern), a.instead})
		}
		return all
	}()
	fine = compile("(?:" + strings.Join(allowed, "|") + ")")
)

// finding is a wording in a text, by the offset of its first byte.
type finding struct {
	at            int
	word, instead string
}

// find gives the wordings of a text that are refused.
func find(text []byte) (all []finding) {
	text = fine.ReplaceAllFunc(text, blank)
	for _, r := range rules {
		for _, at := range r.FindAllIndex(text, -1) {
			word := strings.Join(strings.Fields(string(text[at[0]:at[1]])), " ")
			all = append(all, finding{at[0], word, r.instead})
		}
	}
	return all
}

// blank gives as many blanks as there are bytes, and keeps the ends of lines.
func blank(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = ' '
		if c == '\n' {
			out[i] = c
		}
	}
	return out
}

// prose is what a file says to people, every byte at its place: of a program
// the comments and strings, of others all.
func prose(name string, text []byte) []byte {
	if !strings.HasSuffix(name, ".go") {
		return text
	}
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	out := blank(text)
	for {
		at, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return out
		case token.COMMENT, token.STRING:
			copy(out[file.Offset(at):], literal)
		default:
		}
	}
}

// isText says whether a file has texts that people read.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md", ".yml", ".yaml", ".html", ".sh", ".service":
		return true
	}
	return path.Base(name) == "Makefile" || path.Base(name) == "NOTES.txt"
}

// isExempt says whether a file may still have the words.
func isExempt(name string) bool {
	if strings.HasPrefix(name, "tools/words/") { // The list itself.
		return true
	}
	for _, e := range exempt {
		if matched, _ := path.Match(e, name); matched || strings.HasSuffix(e, "/") && strings.HasPrefix(name, e) {
			return true
		}
	}
	return false
}

// skipped says whether a folder is none of ours to write in: what was built,
// fetched or captured.
func skipped(folder string) bool {
	name := path.Base(folder)
	return name == "testdata" || name == "node_modules" || folder == "bin" || folder == "dist" ||
		strings.HasPrefix(name, ".") && folder != "." && folder != ".github"
}

func TestNoQuaintWords(t *testing.T) {
	read := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		name := filepath.ToSlash(relative)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped(name):
			return fs.SkipDir
		case entry.IsDir(), !isText(name), isExempt(name):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		read++
		for _, f := range find(prose(name, text)) {
			t.Errorf("%s:%d: %q: write %s", name, 1+strings.Count(string(text[:f.at]), "\n"), f.word, f.instead)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}

func TestWhatIsFound(t *testing.T) {
	for _, c := range []struct{ says, name, text, want string }{
		{"a word in a document", "a.md", "It shall go.", "shall"},
		{"a word in any case", "a.md", "Shall it go?", "Shall"},
		{"a part of a word is none", "a.md", "shallow folklore understands", ""},
		{"a wording over the end of a line", "a.md", "it had\nits say", "had its say"},
		{"a comment", "a.go", "package a\n\n// It starts anew.\n", "anew"},
		{"a wording over two lines of comment", "a.go", "package a\n\n// It can\n// not be.\n", "can // not"},
		{"a string", "a.go", "package a\n\nvar x = \"it is told\"\n", "is told"},
		{"a name is no text", "a.go", "package a\n\nvar beside = 1\n", ""},
		{"what everybody understands", "a.md", "TTFT stands for time to first token; the gauges stand still.", ""},
		{"another word next to an allowed one", "a.md", "It stands for what stands there.", "stands"},
	} {
		t.Run(c.says, func(t *testing.T) {
			var words []string
			for _, f := range find(prose(c.name, []byte(c.text))) {
				words = append(words, f.word)
			}
			if got := strings.Join(words, ", "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestExemptPlacesAreThere(t *testing.T) {
	for _, e := range exempt {
		if found, err := filepath.Glob(filepath.Join(root, e)); err != nil || len(found) == 0 {
			t.Errorf("%s: no such file (%v)", e, err)
		}
	}
}
