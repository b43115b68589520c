package main

import (
	"io"
	"strings"
	"sync"
)

// screen is where the demo writes: lines one below the other and, on a terminal, a footer. Log
// lines go between them. Safe for concurrent use.
type screen struct {
	lines, log io.Writer
	terminal   bool

	mu     sync.Mutex
	footer string
}

func newScreen(lines, log io.Writer) *screen {
	return &screen{lines: lines, log: log, terminal: terminalOf(lines) != nil}
}

// open writes text, and on a terminal the footer.
func (s *screen) open(text, footer string) {
	s.write(s.lines, text+"\n")
	if s.terminal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.footer = footer
		_, _ = io.WriteString(s.lines, footer)
	}
}

// println writes one line, folded to the width of the terminal.
func (s *screen) println(line string) {
	p := &textTable{width: widthOf(s.lines)}
	p.hanging(line)
	s.write(s.lines, p.String())
}

// Write writes log lines, folded to the width of the terminal.
func (s *screen) Write(b []byte) (int, error) {
	p := &textTable{width: widthOf(s.log)}
	for line := range strings.Lines(string(b)) {
		p.hanging(strings.TrimSuffix(line, "\n"))
	}
	s.write(s.log, p.String())
	return len(b), nil
}

// close ends the line of the footer.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.footer != "" {
		s.footer = ""
		_, _ = io.WriteString(s.lines, "\n")
	}
}

// write writes text above the footer. Errors are ignored: a reader who left misses nothing.
func (s *screen) write(w io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.footer == "" {
		_, _ = io.WriteString(w, text)
		return
	}
	_, _ = io.WriteString(s.lines, "\r\x1b[K")
	_, _ = io.WriteString(w, text)
	_, _ = io.WriteString(s.lines, s.footer)
}
