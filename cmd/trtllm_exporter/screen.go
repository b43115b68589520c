package main

import (
	"io"
	"strings"
	"sync"
)

// screen is where the demo writes: lines one below the other and, on a terminal,
// one that stays the last. The log goes between the lines. Safe for concurrent use.
type screen struct {
	lines, log io.Writer
	terminal   bool

	mu     sync.Mutex
	footer string
}

// newScreen writes lines to one writer and the log to another.
func newScreen(lines, log io.Writer) *screen {
	return &screen{lines: lines, log: log, terminal: terminalOf(lines) != nil}
}

// open writes text, and the line that stays.
func (s *screen) open(text, footer string) {
	s.put(s.lines, text+"\n")
	if s.terminal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.footer = footer
		s.draw()
	}
}

// say writes one line, folded to the terminal.
func (s *screen) say(line string) {
	p := &textTable{width: widthOf(s.lines)}
	p.hanging(line)
	s.put(s.lines, p.String())
}

// Write takes the log, which a terminal shows folded.
func (s *screen) Write(b []byte) (int, error) {
	p := &textTable{width: widthOf(s.log)}
	for line := range strings.Lines(string(b)) {
		p.hanging(strings.TrimSuffix(line, "\n"))
	}
	s.put(s.log, p.String())
	return len(b), nil
}

// close ends the line that stays.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.footer != "" {
		s.footer = ""
		_, _ = io.WriteString(s.lines, "\n")
	}
}

// put writes text above the line that stays. A reader who left sees no more.
func (s *screen) put(w io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.footer != "" {
		_, _ = io.WriteString(s.lines, "\r\x1b[K")
	}
	_, _ = io.WriteString(w, text)
	s.draw()
}

// draw writes the line that stays.
func (s *screen) draw() {
	if s.footer != "" {
		_, _ = io.WriteString(s.lines, s.footer)
	}
}
