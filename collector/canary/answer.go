package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"
)

type answer struct {
	// frames is the number of frames with text, voices holds their texts by what these continue.
	frames int
	voices []voice
	// first and last are when the first and the last text arrived, gap is the longest time
	// between two.
	first, last time.Time
	gap         time.Duration
	// usage is the number of tokens that the server reported last, 0 if it did not.
	usage int
	// queued and engineFirst are the times from the arrival of the request to its scheduling and
	// to its first token, as measured by the server; 0 if unknown.
	queued, engineFirst time.Duration
	// finished is true if a frame had a finish reason; end is when the stream ended.
	finished bool
	end      time.Time
	// progressed is true if the last event had text, ending if only the end of the stream is
	// missing.
	progressed, ending bool
}

// voice is one of the texts of an answer, such as its reasoning, in frames.
type voice struct {
	of    string
	texts []string
}

// add adds the texts of one frame. Triton's OpenAI frontend sends a frame without text before
// the first token, which must not count as the first token.
func (a *answer) add(pieces []piece, now time.Time) {
	said := false
	for _, p := range pieces {
		said = a.hear(p) || said
	}
	if !said {
		return
	}
	if a.frames == 0 {
		a.first, a.last = now, now
	}
	a.frames++
	a.gap = max(a.gap, now.Sub(a.last))
	a.last, a.progressed = now, true
}

// hear adds a text to what it continues. It reports whether there is any.
func (a *answer) hear(p piece) bool {
	if p.text == "" {
		return false
	}
	i := slices.IndexFunc(a.voices, func(v voice) bool { return v.of == p.of })
	if i < 0 {
		i = len(a.voices)
		a.voices = append(a.voices, voice{of: p.of})
	}
	a.voices[i].texts = append(a.voices[i].texts, p.text)
	return true
}

// output returns a hash of the texts in the order in which they began, regardless of how these are split into
// frames.
func (a *answer) output() string {
	hash := sha256.New()
	for i := range a.voices {
		_, _ = io.WriteString(hash, a.voices[i].whole())
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// whole returns all of a text. Frames contain either new text, or all text so far, or new text except for the last
// frame, which has all of it (TensorRT-LLM's llmapi model, and accumulate_tokens).
func (v *voice) whole() string {
	last := v.texts[len(v.texts)-1]
	growing := true
	for i := 1; i < len(v.texts); i++ {
		growing = growing && strings.HasPrefix(v.texts[i], v.texts[i-1])
	}
	previous := strings.Join(v.texts[:len(v.texts)-1], "")
	if growing || len(v.texts) > 2 && strings.HasPrefix(last, previous) {
		return last
	}
	return previous + last
}
