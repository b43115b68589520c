package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Mark stands for a secret.
	Mark = "<secret>"
	// minInText is the minimum length of secrets that are hidden in messages, minInData that of secrets
	// in labels, names and answers, which contain more short words.
	minInText, minInData = 4, 8
	// maxLength is how much of a secret is known: no header is longer.
	maxLength = 8 << 10
	// maxNoted is how many of the secrets that were sent are known, the latest. A server of tokens may
	// issue a new one for each request.
	maxNoted = 1 << 10
)

// Store knows the secrets of the process. It is safe for concurrent use. A nil Store knows none.
type Store struct {
	parent *Store

	mu sync.Mutex
	// configured are secrets that stay, noted the latest of those that were sent.
	configured, noted []known
	index             atomic.Pointer[index]
}

// known is a secret and how it may be spelled.
type known struct {
	text    string
	spelled [][]byte
}

// Add adds secrets of the configuration.
func (s *Store) Add(texts ...string) {
	if s != nil {
		s.learn(&s.configured, texts)
	}
}

// Note adds secrets that are about to be sent, such as the content of a file or a token.
func (s *Store) Note(texts ...string) {
	if s != nil {
		s.learn(&s.noted, texts)
	}
}

func (s *Store) learn(list *[]known, texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(*list)
	for _, text := range texts {
		same := func(k known) bool { return k.text == text }
		if !slices.ContainsFunc(s.configured, same) && !slices.ContainsFunc(*list, same) {
			*list = append(*list, known{text, spellings(text[:min(len(text), maxLength)])})
		}
	}
	if len(*list) > before {
		s.noted = s.noted[max(0, len(s.noted)-maxNoted):]
		s.index.Store(newIndex(slices.Concat(s.configured, s.noted)))
	}
}

// With returns a store that knows further secrets, which count for one request only.
func (s *Store) With(texts ...string) *Store {
	with := &Store{parent: s}
	with.Add(texts...)
	return with
}

// Hide replaces the secrets in a message.
func (s *Store) Hide(text string) string {
	return string(s.replace([]byte(text), minInText))
}

// HideInData replaces the secrets in a name or a value.
func (s *Store) HideInData(text string) string {
	return string(s.replace([]byte(text), minInData))
}

// HideInAnswer replaces the secrets in an answer, which may be JSON.
func (s *Store) HideInAnswer(answer []byte) []byte { return s.replaceInJSON(answer, minInData) }

// Writer returns a writer that hides secrets in the lines of a log, each of which is written at once.
func (s *Store) Writer(next io.Writer) io.Writer { return writer{next, s} }

type writer struct {
	io.Writer

	store *Store
}

func (w writer) Write(line []byte) (int, error) {
	if _, err := w.Writer.Write(w.store.replaceInJSON(line, minInText)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// jsonString matches a string of JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// replaceInJSON replaces the secrets in the strings of a text if it is JSON, since the numbers of a server
// are no secrets, and in all of any other text.
func (s *Store) replaceInJSON(text []byte, minLength int) []byte {
	hidden := s.replace(text, minLength)
	if bytes.Equal(hidden, text) || !json.Valid(text) {
		return hidden
	}
	return jsonString.ReplaceAllFunc(text, func(part []byte) []byte { return s.replace(part, minLength) })
}

// In reports whether a text has a secret that must not be in data. A secret has no line break.
func (s *Store) In(text []byte) bool {
	if s.empty() {
		return false
	}
	line := foldeds.Get().(*folded) // The pool holds nothing else.
	defer foldeds.Put(line)
	for part := range bytes.Lines(text) {
		line.fold(part, false)
		if s.has(line.bytes, minInData) {
			return true
		}
	}
	return false
}

// has reports whether folded bytes hold a secret.
func (s *Store) has(text []byte, minLength int) bool {
	for in := s; in != nil; in = in.parent {
		if from, _ := in.index.Load().next(text, 0, minLength); from >= 0 {
			return true
		}
	}
	return false
}

// foldeds are reused.
//
//nolint:gochecknoglobals // memory only; it holds no state.
var foldeds = sync.Pool{New: func() any { return new(folded) }}

func (s *Store) empty() bool {
	for in := s; in != nil; in = in.parent {
		if in.index.Load() != nil {
			return false
		}
	}
	return true
}

// replace replaces the secrets from a length on. It returns the text itself if there are none.
func (s *Store) replace(text []byte, minLength int) []byte {
	if s.empty() || len(text) < minLength {
		return text
	}
	f := foldeds.Get().(*folded) // The pool holds nothing else.
	defer foldeds.Put(f)
	f.fold(text, false)
	if !s.has(f.bytes, minLength) {
		return text // As nearly always.
	}
	f.fold(text, true)
	var found [][2]int
	for in := s; in != nil; in = in.parent {
		index := in.index.Load()
		for at := 0; ; {
			from, to := index.next(f.bytes, at, minLength)
			if from < 0 {
				break
			}
			start, end := f.place(text, from, to)
			found, at = append(found, [2]int{start, end}), to
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var out []byte
	done := 0
	for _, f := range found {
		if f[0] >= done {
			out = append(append(out, text[done:f[0]]...), Mark...)
		}
		done = max(done, f[1])
	}
	return append(out, text[done:]...)
}

// index finds secrets, folded, by their first bytes, in one pass however many there are.
type index struct {
	// may has a bit for each hash of first bytes.
	may [1 << 10]uint64
	by  map[uint32][][]byte
}

func newIndex(all []known) *index {
	x := &index{by: make(map[uint32][][]byte, 8*len(all))}
	for _, k := range all {
		for _, text := range k.spelled {
			first := binary.BigEndian.Uint32(text)
			x.by[first] = append(x.by[first], text)
			x.may[hash(first)/64] |= 1 << (hash(first) % 64)
		}
	}
	for _, all := range x.by {
		slices.SortFunc(all, func(a, b []byte) int { return len(b) - len(a) })
	}
	return x
}

// spellings returns the spellings of a secret that decoding escapes does not undo, folded: as it is, in
// hexadecimal, and in both alphabets of base64 after none, one and two other bytes. Of the last, the
// characters that depend on what is beside it are left out.
func spellings(secret string) (all [][]byte) {
	if len(secret) < minInText {
		return nil
	}
	texts := []string{secret, hex.EncodeToString([]byte(secret))}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString([]byte("##"[:before] + secret))
			const perByte, perCharacter = 8, 6
			first := (before*perByte + perCharacter - 1) / perCharacter
			texts = append(texts, text[first:(before+len(secret))*perByte/perCharacter])
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	for _, text := range texts {
		var f folded
		f.fold([]byte(text), false)
		if len(f.bytes) >= minInText {
			all = append(all, bytes.Clone(f.bytes))
		}
	}
	return all
}

// hash returns 16 bits.
func hash(first uint32) uint32 { return first * 0x9E3779B1 >> 16 }

// next returns where the next secret begins and ends, -1 if there is none.
func (x *index) next(text []byte, at, minLength int) (from, to int) {
	if x == nil {
		return -1, -1
	}
	for i := at; i+minInText <= len(text); i++ {
		first := binary.BigEndian.Uint32(text[i:])
		if h := hash(first); x.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, known := range x.by[first] {
			if len(known) >= minLength && bytes.HasPrefix(text[i:], known) {
				return i, i + len(known)
			}
		}
	}
	return -1, -1
}

// header returns the parts of a header with a credential: the value, the credential after its scheme, and
// user and password of basic authentication.
func header(value string) []string {
	all := []string{value}
	_, credential, found := strings.Cut(value, " ")
	if !found {
		credential = value
	}
	all = append(all, credential)
	if pair, err := base64.StdEncoding.DecodeString(credential); err == nil {
		if _, password, ok := strings.Cut(string(pair), ":"); ok {
			all = append(all, string(pair), password)
		}
	}
	return all
}

// NoteHeader notes the value of a header that is about to be sent.
func (s *Store) NoteHeader(value string) { s.Note(header(value)...) }
