package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// partialAnswer is what an answer has said so far.
type partialAnswer struct {
	// texts are those of the frames that have any, frames their number.
	texts  []string
	frames int
	// first and last are when the first and last of them came, gap the longest
	// time between two.
	first, last time.Time
	gap         time.Duration
	// usage is the number of tokens the server said last, 0 for none.
	usage int
	// queued and engineFirst are the times from the request's arrival to its place
	// in the batch and to its first token as the server measured them; 0 for none.
	queued, engineFirst time.Duration
	// finished is true when a frame said why the answer ended, done when the
	// stream is at its end, at end.
	finished, done bool
	end            time.Time
	// moved is true when the last event had text, ending while only the end is
	// waited for.
	moved, ending bool
}

// text notes the text of one frame. Frames without text are none: Triton's
// OpenAI frontend sends one before the first token is there.
func (h *partialAnswer) text(text string, now time.Time) {
	if text == "" {
		return
	}
	h.frames++
	h.texts = append(h.texts, text)
	if h.frames == 1 {
		h.first = now
	} else {
		h.gap = max(h.gap, now.Sub(h.last))
	}
	h.last, h.moved = now, true
}

// all reports whether everything came that was asked for, so that only the end is
// missing.
func (h *partialAnswer) all(tokens int) bool {
	return h.finished || h.frames >= tokens || h.usage >= tokens
}

// tokens are those the server says it generated, else the frames.
func (h *partialAnswer) tokens() int {
	if h.usage > 0 {
		return h.usage
	}
	return h.frames
}

// output is the hash of the whole text. Frames bring what is new, or all so far,
// or what is new and at last all of it (TensorRT-LLM's llmapi model, and
// accumulate_tokens); how the text was cut into frames must not count.
func (h *partialAnswer) output() string {
	last := h.texts[len(h.texts)-1]
	growing := true
	for i := 1; i < len(h.texts); i++ {
		growing = growing && strings.HasPrefix(h.texts[i], h.texts[i-1])
	}
	before := strings.Join(h.texts[:len(h.texts)-1], "")
	whole := before + last
	if growing || len(h.texts) > 2 && strings.HasPrefix(last, before) {
		whole = last
	}
	sum := sha256.Sum256([]byte(whole))
	return hex.EncodeToString(sum[:])
}
