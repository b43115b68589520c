package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

type answer struct {
	// texts holds the non-empty texts of frames.
	texts []string
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

// addText adds the text of one frame. Triton's OpenAI frontend sends a frame without text before
// the first token, which must not count as the first token.
func (a *answer) addText(text string, now time.Time) {
	if text == "" {
		return
	}
	if len(a.texts) == 0 {
		a.first, a.last = now, now
	}
	a.gap = max(a.gap, now.Sub(a.last))
	a.texts, a.last, a.progressed = append(a.texts, text), now, true
}

// output returns a hash of the text, regardless of how it is split into frames. Frames contain
// either new text, or all text so far, or new text except for the last frame, which has all of it
// (TensorRT-LLM's llmapi model, and accumulate_tokens).
func (a *answer) output() string {
	last := a.texts[len(a.texts)-1]
	growing := true
	for i := 1; i < len(a.texts); i++ {
		growing = growing && strings.HasPrefix(a.texts[i], a.texts[i-1])
	}
	previous := strings.Join(a.texts[:len(a.texts)-1], "")
	text := previous + last
	if growing || len(a.texts) > 2 && strings.HasPrefix(last, previous) {
		text = last
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
