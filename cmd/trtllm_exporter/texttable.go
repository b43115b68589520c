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

// narrowest is the least width that text is folded to.
const narrowest = 40

// widthOf is how many columns a terminal has, or environment variable COLUMNS
// says; 0 for a file or a pipe, whose lines are not folded, so that others can
// read them line by line.
func widthOf(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, narrowest)
	}
	file := terminalOf(w)
	if file == nil {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return max(columns, narrowest)
}

// terminalOf is the terminal behind a writer; nil where there is none.
func terminalOf(w io.Writer) *os.File {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// textTable is text in aligned columns, of which the last is folded at the width.
type textTable struct {
	width int
	text  strings.Builder
	block [][]string
}

// row adds a row to the present block; columns align within a block, and a row
// without cells ends it.
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

// line ends the block and writes a line of its own, folded under its indent.
func (p *textTable) line(text string) {
	p.end()
	words := strings.TrimLeft(text, " ")
	p.folded(text[:len(text)-len(words)], words)
}

// hanging ends the block and writes a line of its own, whose further lines are
// indented.
func (p *textTable) hanging(text string) {
	p.end()
	p.text.WriteString(strings.Join(top.Hang("", text, max(p.width-2, 0)), "\n  ") + "\n")
}

// verbatim ends the block and writes text to be copied, as it is.
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
		p.folded(front.String(), row[len(row)-1])
	}
}

// shrink takes from the widest columns until half of the width is left for the
// last one, or a table of many columns fits.
func shrink(widths []int, width int) {
	const least = 8
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		room := width * 2 / 3
		if len(widths) > 3 {
			room = width - len("INSTANCES")
		}
		if sum <= room || widths[widest] <= least {
			return
		}
		widths[widest]--
	}
}

// folded writes a text behind a front, under which its further lines begin.
func (p *textTable) folded(front, text string) {
	for _, line := range top.Hang(front, text, p.width) {
		p.text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// String is all that was written.
func (p *textTable) String() string {
	p.end()
	return p.text.String()
}
