package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/trtllm-exporter/trtllm_exporter/cmd/trtllm_exporter/top"
)

// minWidth is the smallest width that text is folded to.
const minWidth = 40

// widthOf returns the width of environment variable COLUMNS or of the terminal. It is 0 for a
// file or a pipe, whose lines are not folded, so that scripts can read them.
func widthOf(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, minWidth)
	}
	file := terminalOf(w)
	if file == nil {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return max(columns, minWidth)
}

// terminalOf returns the terminal behind a writer; nil if it is none.
func terminalOf(w io.Writer) *os.File {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// textTable formats text in aligned columns, the last of which is folded to the width.
type textTable struct {
	width int
	text  strings.Builder
	block [][]string
}

// row adds a row to the current block, within which columns align. A row without cells ends
// the block.
func (p *textTable) row(cells ...string) {
	if len(cells) == 0 {
		p.end()
		p.text.WriteByte('\n')
		return
	}
	for i := range cells {
		cells[i] = top.Plain(cells[i])
	}
	p.block = append(p.block, cells)
}

// line ends the block and writes a line, folded under its indent.
func (p *textTable) line(text string) {
	p.end()
	words := strings.TrimLeft(text, " ")
	p.fold(text[:len(text)-len(words)], words)
}

// hanging ends the block and writes a line whose continuation lines are indented.
func (p *textTable) hanging(text string) {
	p.end()
	p.text.WriteString(strings.Join(top.Hang("", text, max(p.width-2, 0)), "\n  ") + "\n")
}

// verbatim ends the block and writes text without folding it.
func (p *textTable) verbatim(text string) {
	p.end()
	p.text.WriteString(text)
}

// end writes the block.
func (p *textTable) end() {
	const gap = 2
	rows := p.block
	p.block = nil
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+gap)
		}
	}
	if p.width > 0 {
		shrink(widths, p.width)
	}
	for _, row := range rows {
		var front strings.Builder
		for i, cell := range row[:len(row)-1] {
			front.WriteString(top.Fit(cell, widths[i]-gap, false) + "  ")
		}
		p.fold(front.String(), row[len(row)-1])
	}
}

// shrink narrows the widest columns until the last column has a third of the width, or a table
// of many columns fits.
func shrink(widths []int, width int) {
	const narrowest = 8
	available := width * 2 / 3
	if len(widths) > 3 {
		available = width - len("INSTANCES")
	}
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= available || widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

// fold writes text after a front, under which its continuation lines begin.
func (p *textTable) fold(front, text string) {
	for _, line := range top.Hang(front, text, p.width) {
		p.text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// String returns everything that was written.
func (p *textTable) String() string {
	p.end()
	return p.text.String()
}
