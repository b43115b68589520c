package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/textproto"
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
	// MaxLength is how much of a secret is known: no header is longer.
	MaxLength = 8 << 10
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

// Sent returns what notes the secrets in headers of these names when they are written to the wire, for
// [net/http/httptrace.ClientTrace].
func (s *Store) Sent(names ...string) func(name string, values []string) {
	return func(name string, values []string) {
		if slices.Contains(names, textproto.CanonicalMIMEHeaderKey(name)) {
			s.Note(values...)
		}
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
				*list = append(*list, known{part, spellings(part[:min(len(part), MaxLength)])})
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

// With returns a store that knows further secrets, which count for one request only.
func (s *Store) With(texts ...string) *Store {
	with := &Store{parent: s}
	with.Add(texts...)
	return with
}

// Hide replaces the secrets in a message.
func (s *Store) Hide(text string) string { return s.hide(text, minInText) }

// HideStart replaces the secrets in the start of what follows, of a size, or longer by the secret that stands at
// its end. Who cuts what others wrote reads MaxLength more of it: the start of a secret cannot be told from
// another text.
func (s *Store) HideStart(text []byte, size int) string {
	size = min(size, len(text))
	places := slices.DeleteFunc(s.find(text, minInText), func(place [2]int) bool { return place[0] >= size })
	for _, place := range places {
		size = max(size, place[1])
	}
	return string(mark(text[:size], places))
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
			return slices.Concat(quote, mark(inner, s.find(inner, minLength)), quote)
		})
	}
	return mark(text, found)
}

func (s *Store) hide(text string, minLength int) string {
	found := s.find([]byte(text), minLength)
	if len(found) == 0 {
		return text
	}
	return string(mark([]byte(text), found))
}

// In reports whether a page has a secret that must not be in data. Lines are decoded one by one, since a decoded
// text takes several times its size; texts of a page seldom have line breaks, and those are escaped.
func (s *Store) In(page []byte) bool {
	all := s.indexes()
	if len(all) == 0 {
		return false
	}
	if len(findIn(all, page, nil, minInData)) > 0 {
		return true
	}
	for line := range bytes.Lines(page) {
		if len(findDecoded(all, line, minInData)) > 0 {
			return true
		}
	}
	return false
}

// mark returns a text with marks at the places of secrets.
func mark(text []byte, places [][2]int) (out []byte) {
	slices.SortFunc(places, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	done := 0
	for _, place := range places {
		if place[0] >= done {
			out = append(append(out, text[done:place[0]]...), Mark...)
		}
		done = max(done, place[1])
	}
	return append(out, text[done:]...)
}

// find returns where secrets stand in a text, as it is and as it is decoded level by level.
func (s *Store) find(text []byte, minLength int) [][2]int {
	all := s.indexes()
	if len(all) == 0 {
		return nil
	}
	return append(findIn(all, text, nil, minLength), findDecoded(all, text, minLength)...)
}

// findDecoded returns where secrets of any index stand in a text as it is decoded.
func findDecoded(all []*index, text []byte, minLength int) (found [][2]int) {
	if !hasEscapes(text) {
		return nil
	}
	d := decodings.Get().(*decoded) // The pool holds nothing else.
	defer decodings.Put(d)
	d.set(text)
	for round := 0; round < maxRounds && d.decode(); round++ {
		found = append(found, findIn(all, d.bytes, d, minLength)...)
	}
	return found
}

// indexes returns those of the store and of the one that it extends.
func (s *Store) indexes() []*index {
	all := make([]*index, 0, 2) // That of a request has one parent.
	for in := s; in != nil; in = in.parent {
		if x := in.index.Load(); x != nil {
			all = append(all, x)
		}
	}
	return all
}

// findIn returns where secrets of any index stand in a text, which was decoded from another one unless of is nil.
func findIn(all []*index, text []byte, of *decoded, minLength int) (found [][2]int) {
	for _, x := range all {
		found = x.find(found, text, of, minLength)
	}
	return found
}

// index finds secrets by their last bytes, in one pass however many there are.
type index struct {
	// may has a bit for each hash of last bytes.
	may [1 << 10]uint64
	by  map[uint32][][]byte
}

func newIndex(all []known) *index {
	x := &index{by: make(map[uint32][][]byte, 8*len(all))}
	for _, k := range all {
		for _, text := range k.spelled {
			last := binary.BigEndian.Uint32(text[len(text)-minInText:])
			x.by[last] = append(x.by[last], text)
			x.may[hash(last)/64] |= 1 << (hash(last) % 64)
		}
	}
	for _, all := range x.by {
		slices.SortFunc(all, func(a, b []byte) int { return len(b) - len(a) })
	}
	return x
}

// hash returns 16 bits.
func hash(last uint32) uint32 { return last * 0x9E3779B1 >> 16 }

// find adds where secrets stand in a text, in any case and whatever separates their bytes. It was decoded
// from another one unless of is nil.
func (x *index) find(found [][2]int, text []byte, of *decoded, minLength int) [][2]int {
	var last uint32
	var previous []byte
	done := 0
	for i, b := range text {
		if separates(b) {
			continue
		}
		last = last<<8 | uint32(lower(b))
		if h := hash(last); x.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		known, from := x.match(text[:i+1], last, minLength)
		if known == nil || from < done && bytes.Equal(known, previous) { // It may begin as it ends.
			continue
		}
		previous, done = known, i+1
		found = append(found, of.place(from, done))
	}
	return found
}

// match returns the longest secret that a text ends with, and where it begins there, nil if there is none.
func (x *index) match(text []byte, last uint32, minLength int) (secret []byte, from int) {
	for _, secret := range x.by[last] {
		rest := secret
		for from = len(text); len(rest) > 0 && from > 0; from-- {
			if b := text[from-1]; separates(b) {
				continue
			} else if lower(b) != rest[len(rest)-1] {
				break
			}
			rest = rest[:len(rest)-1]
		}
		if len(rest) == 0 && len(secret) >= minLength {
			return secret, from
		}
	}
	return nil, 0
}

// spellings returns the spellings of a secret that decoding does not undo: as it is, as the name of a label, in
// hexadecimal, and in both alphabets of base64 after none, one and two other bytes. Of the last, the characters
// that depend on what is beside it are left out.
func spellings(secret string) (all [][]byte) {
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
		var d decoded
		d.set([]byte(text))
		for again := true; again; again = d.decode() {
			form := slices.DeleteFunc(bytes.Clone(d.bytes), separates)
			for i, b := range form {
				form[i] = lower(b)
			}
			if len(form) >= minInText {
				all = append(all, form)
			}
		}
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal)
}
