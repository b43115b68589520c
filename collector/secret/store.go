package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/util/strutil"
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

// known is a secret and how it may be spelled, which is worked out when something is searched.
type known struct {
	text    string
	spelled func() []string
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
		for _, part := range parts(text) {
			same := func(k known) bool { return k.text == part }
			if len(part) >= minInText && !slices.ContainsFunc(s.configured, same) && !slices.ContainsFunc(*list, same) {
				spelled := func() []string { return spellings(part[:min(len(part), maxLength)]) }
				*list = append(*list, known{part, sync.OnceValue(spelled)})
			}
		}
	}
	if len(*list) > before {
		s.noted = s.noted[max(0, len(s.noted)-maxNoted):]
		s.index.Store(newIndex(slices.Concat(s.configured, s.noted)))
	}
}

// parts returns what of a secret is one by itself: all of it, what follows the scheme of a header, and user
// and password of basic authentication.
func parts(text string) []string {
	credential := text[strings.IndexByte(text, ' ')+1:]
	all := []string{text, credential}
	if pair, err := base64.StdEncoding.DecodeString(credential); err == nil {
		if _, password, ok := strings.Cut(string(pair), ":"); ok {
			all = append(all, string(pair), password)
		}
	}
	return all
}

// WithQuery returns a store that also knows what is secret in a query, for one request.
func (s *Store) WithQuery(query string) *Store {
	if query == "" {
		return s
	}
	with := &Store{parent: s}
	with.Add(ofQuery(query)...)
	return with
}

// Hide replaces the secrets in a message.
func (s *Store) Hide(text string) string { return s.hide(text, minInText) }

// ReadStart reads as much as may be shown of what a server sends, and replaces the secrets in it. It looks further,
// since the start of a secret cannot be told from another text. A failure only ends the text.
func (s *Store) ReadStart(from io.Reader, size int) string {
	text, _ := io.ReadAll(io.LimitReader(from, int64(size+maxLength)))
	return string(mark(text, min(size, len(text)), s.find(text, minInText)))
}

// HideInData replaces the secrets in a name or a value.
func (s *Store) HideInData(text string) string { return s.hide(text, minInData) }

// HideInAnswer replaces the secrets in an answer, which may be JSON.
func (s *Store) HideInAnswer(answer []byte) []byte { return s.hideInJSON(answer, minInData) }

// Writer returns a writer that hides secrets in the lines of a log, each of which is written at once.
func (s *Store) Writer(next io.Writer) io.Writer { return writer{next, s} }

type writer struct {
	io.Writer

	store *Store
}

func (w writer) Write(line []byte) (int, error) {
	if _, err := w.Writer.Write(w.store.hideInJSON(line, minInText)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// jsonString matches a string of JSON, with its quotes.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// hideInJSON replaces the secrets in the strings of a text if it is JSON, since the numbers of a server are no
// secrets, and in all of any other text.
func (s *Store) hideInJSON(text []byte, minLength int) []byte {
	found := s.find(text, minLength)
	switch {
	case len(found) == 0:
		return text // As nearly always.
	case json.Valid(text):
		return jsonString.ReplaceAllFunc(text, func(quoted []byte) []byte {
			quote, inner := quoted[:1], quoted[1:len(quoted)-1] // A secret may have quotes.
			return slices.Concat(quote, mark(inner, len(inner), s.find(inner, minLength)), quote)
		})
	}
	return mark(text, len(text), found)
}

func (s *Store) hide(text string, minLength int) string {
	found := s.find([]byte(text), minLength)
	if len(found) == 0 {
		return text
	}
	return string(mark([]byte(text), len(text), found))
}

// In reports whether a page has a secret that must not be in data. Lines are decoded one by one, since a decoded
// text takes several times its size; texts of a page seldom have line breaks, and those are escaped.
func (s *Store) In(page []byte) bool {
	if s == nil {
		return false
	}
	x := s.index.Load()
	if len(x.find(page, minInData)) > 0 || s.parent.In(page) {
		return true
	}
	for line := range bytes.Lines(page) {
		if len(x.findDecoded(line, minInData)) > 0 {
			return true
		}
	}
	return false
}

// mark returns the first bytes of a text with marks at the places of secrets, the last of which may end behind
// them.
func mark(text []byte, size int, places [][2]int) (out []byte) {
	slices.SortFunc(places, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	done := 0
	for _, place := range places {
		if place[0] >= size {
			break
		}
		if place[0] >= done {
			out = append(append(out, text[done:place[0]]...), Mark...)
		}
		done = max(done, place[1])
	}
	return append(out, text[done:max(done, size)]...)
}

// find returns where secrets stand in a text, as it is and as it is decoded level by level.
func (s *Store) find(text []byte, minLength int) [][2]int {
	if s == nil {
		return nil
	}
	x := s.index.Load()
	return slices.Concat(s.parent.find(text, minLength), x.find(text, minLength), x.findDecoded(text, minLength))
}

// index finds secrets in texts. A nil index knows none.
type index struct {
	// marks has what replaces secrets in a folded text. It is made when it is first used, since many secrets may be
	// learned before.
	marks func() *marks
}

// marks replace secrets by as many bytes that none has: a first one, and others. Long has those of minInData and more:
// a short one that overlaps them must not take their beginning.
type marks struct {
	long, short *strings.Replacer
}

// marked matches what stands for a secret.
var marked = regexp.MustCompile("\x01\x00*")

// newIndex returns an index of secrets, of which the longest counts where several stand.
func newIndex(all []known) *index {
	return &index{sync.OnceValue(func() *marks {
		var texts, long, short []string
		for _, k := range all {
			texts = append(texts, k.spelled()...)
		}
		slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
		for _, text := range texts {
			to := &long
			if len(text) < minInData {
				to = &short
			}
			*to = append(*to, text, "\x01"+strings.Repeat("\x00", len(text)-1))
		}
		return &marks{strings.NewReplacer(long...), strings.NewReplacer(short...)}
	})}
}

// find returns where secrets stand in a text.
func (x *index) find(text []byte, minLength int) [][2]int {
	if x == nil {
		return nil
	}
	folded := fold(text)
	all := x.marks()
	found := places(text, folded, all.long)
	if minLength < minInData {
		found = append(found, places(text, folded, all.short)...)
	}
	return found
}

// places returns where secrets stand in a text, which is also given folded.
func places(text []byte, folded string, marks *strings.Replacer) (found [][2]int) {
	with := marks.Replace(folded)
	if with == folded {
		return nil // As nearly always.
	}
	var at []int // Where in the text each byte of the folded one is.
	for i, b := range text {
		if !separates(b) {
			at = append(at, i)
		}
	}
	for _, place := range marked.FindAllStringIndex(with, -1) {
		found = append(found, [2]int{at[place[0]], at[place[1]-1] + 1})
	}
	return found
}

// findDecoded returns where secrets stand in a text that become visible as it is decoded.
func (x *index) findDecoded(text []byte, minLength int) (found [][2]int) {
	if x == nil || !hasEscapes(text) {
		return nil
	}
	d := newDecoded(text)
	for round := 0; round < maxRounds && d.decode(); round++ {
		for _, place := range x.find(d.bytes, minLength) {
			found = append(found, [2]int{int(d.ends[place[0]]), int(d.ends[place[1]])})
		}
	}
	return found
}

// spellings returns the spellings of a secret that decoding does not undo: as it is, as the name of a label, in
// hexadecimal, and in both alphabets of base64 after none, one and two other bytes. Of the last, the characters
// that depend on what is beside it are left out.
func spellings(secret string) (all []string) {
	texts := []string{secret, strutil.SanitizeLabelName(secret), hex.EncodeToString([]byte(secret))}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString([]byte("##"[:before] + secret))
			const perByte, perCharacter = 8, 6
			first := (before*perByte + perCharacter - 1) / perCharacter
			texts = append(texts, text[first:(before+len(secret))*perByte/perCharacter])
		}
	}
	for _, text := range texts {
		d := newDecoded([]byte(text))
		for again := true; again; again = d.decode() {
			if form := fold(d.bytes); len(form) >= minInText {
				all = append(all, form)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
