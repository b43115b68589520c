package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
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
	// configured are known for ever, noted until newer ones take their place, the oldest first.
	configured map[string]bool
	noted      []string
	// spelled holds how each of them may be spelled.
	spelled map[string][]known
	index   atomic.Pointer[index]
}

// Add adds secrets of the configuration.
func (s *Store) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configured == nil {
		s.configured = make(map[string]bool)
	}
	known := len(s.configured)
	for _, text := range texts {
		s.configured[text] = true
	}
	if len(s.configured) > known {
		s.build()
	}
}

// Note adds secrets that are about to be sent, such as the content of a file or a token.
func (s *Store) Note(texts ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := len(s.noted)
	for _, text := range texts {
		if !s.configured[text] && !slices.Contains(s.noted, text) {
			s.noted = append(s.noted, text)
		}
	}
	if len(s.noted) == known {
		return
	}
	s.noted = slices.Delete(s.noted, 0, max(0, len(s.noted)-maxNoted))
	s.build()
}

// With returns a store that knows further secrets, which count for one request only.
func (s *Store) With(texts ...string) *Store {
	with := &Store{parent: s}
	if len(texts) > 0 {
		with.Add(texts...)
	}
	return with
}

func (s *Store) build() {
	all := slices.Clone(s.noted)
	for text := range s.configured {
		all = append(all, text)
	}
	before := s.spelled
	s.spelled = make(map[string][]known, len(all))
	for _, text := range all {
		spelled, ok := before[text]
		if !ok {
			spelled = spellings(text[:min(len(text), maxLength)])
		}
		s.spelled[text] = spelled
	}
	s.index.Store(newIndex(s.spelled))
}

// Hide replaces the secrets in a message.
func (s *Store) Hide(text string) string {
	return string(s.replace([]byte(text), minInText, false))
}

// HideInData replaces the secrets in a name or a value.
func (s *Store) HideInData(text string) string {
	return string(s.replace([]byte(text), minInData, false))
}

// HideInAnswer replaces the secrets in an answer, which may be JSON: one that is a number is replaced in
// quotes only, because the numbers of a server are no secrets.
func (s *Store) HideInAnswer(answer []byte) []byte {
	return s.replace(answer, minInData, true)
}

// In reports whether a text has a secret that must not be in data. A secret has no line break.
func (s *Store) In(text []byte) bool {
	if s.empty() {
		return false
	}
	line := foldeds.Get().(*folded) // The pool holds nothing else.
	defer foldeds.Put(line)
	for len(text) > 0 {
		part := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			part = text[:end]
		}
		line.fold(part, false)
		if s.has(line.bytes, minInData) {
			return true
		}
		text = text[min(len(part)+1, len(text)):]
	}
	return false
}

// has reports whether folded bytes hold a secret.
func (s *Store) has(text []byte, minLength int) bool {
	for in := s; in != nil; in = in.parent {
		if from, _, _ := in.index.Load().next(text, 0, minLength); from >= 0 {
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
func (s *Store) replace(text []byte, minLength int, answer bool) []byte {
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
			from, to, number := index.next(f.bytes, at, minLength)
			if from < 0 {
				break
			}
			start, end := f.place(text, from, to)
			at = to
			if !answer || !number || quoted(text[:start]) {
				found = append(found, [2]int{start, end})
			}
		}
	}
	if len(found) == 0 {
		return text
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

// quoted reports whether a text of JSON ends within a string.
func quoted(text []byte) (inside bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			inside = !inside
		case inside && text[i] == '\\':
			i++
		}
	}
	return inside
}

// index finds secrets, folded, by their first bytes, in one pass however many there are.
type index struct {
	// may has a bit for each hash of first bytes.
	may [1 << 10]uint64
	by  map[uint32][]known
}

// known is one spelling of a secret; number is true if it is one.
type known struct {
	text   []byte
	number bool
}

func newIndex(spelled map[string][]known) *index {
	x := &index{by: make(map[uint32][]known, 8*len(spelled))}
	for _, all := range spelled {
		for _, k := range all {
			first := binary.BigEndian.Uint32(k.text)
			x.by[first] = append(x.by[first], k)
			x.may[hash(first)/64] |= 1 << (hash(first) % 64)
		}
	}
	for _, all := range x.by {
		slices.SortFunc(all, func(a, b known) int { return len(b.text) - len(a.text) })
	}
	return x
}

// spellings returns the spellings of a secret that decoding escapes does not undo, folded: as it is, in
// hexadecimal, and in both alphabets of base64 after none, one and two other bytes. Of the last, the
// characters that depend on what is beside it are left out.
func spellings(secret string) (all []known) {
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
	slices.Sort(texts[1:])
	texts = slices.Compact(texts)
	_, err := strconv.ParseFloat(secret, 64)
	for i, text := range texts {
		var f folded
		f.fold([]byte(text), false)
		if len(f.bytes) >= minInText {
			all = append(all, known{bytes.Clone(f.bytes), i == 0 && err == nil})
		}
	}
	return all
}

// hash returns 16 bits.
func hash(first uint32) uint32 { return first * 0x9E3779B1 >> 16 }

// next returns where the next secret begins and ends, -1 if there is none.
func (x *index) next(text []byte, at, minLength int) (from, to int, number bool) {
	if x == nil {
		return -1, -1, false
	}
	for i := at; i+minInText <= len(text); i++ {
		first := binary.BigEndian.Uint32(text[i:])
		if h := hash(first); x.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, k := range x.by[first] {
			if len(k.text) >= minLength && bytes.HasPrefix(text[i:], k.text) {
				return i, i + len(k.text), k.number
			}
		}
	}
	return -1, -1, false
}

// Header adds the parts of a header with a credential: the value, the credential after its scheme, and
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
