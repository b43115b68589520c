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

// minWidth is the smallest width to which text is folded.
const minWidth = 40

// widthOf returns COLUMNS or the width of the terminal, 0 for a file or pipe, which scripts read.
func widthOf(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, minWidth)
	}
	if file, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return max(columns, minWidth)
		}
	}
	return 0
}

// printFolded writes lines, folded to the width of the terminal with an indentation, and ignores
// errors.
func printFolded(w io.Writer, text string) { printFoldedTo(w, widthOf(w), text) }

func printFoldedTo(w io.Writer, width int, text string) {
	width = max(width-2, 0)
	for line := range strings.Lines(text) {
		_, _ = io.WriteString(w, strings.Join(top.Hang("", strings.TrimSuffix(line, "\n"), width), "\n  ")+"\n")
	}
}

// textTable formats text in aligned columns. The last column is folded to the width.
type textTable struct {
	width int
	text  strings.Builder
	block [][]string
}

// row adds a row to the current block of aligned columns.
func (p *textTable) row(cells ...string) {
	for i := range cells {
		cells[i] = top.Plain(cells[i])
	}
	p.block = append(p.block, cells)
}

// line ends the block and writes a line, folded under its indentation.
func (p *textTable) line(text string) {
	p.end()
	words := strings.TrimLeft(text, " ")
	p.fold(text[:len(text)-len(words)], words)
}

// verbatim ends the block and writes text unchanged.
func (p *textTable) verbatim(text string) {
	p.end()
	p.text.WriteString(text)
}

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

// shrink narrows the widest columns until a third of the width is left for the last one.
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

// fold writes text after front, and indents continuation lines by its width.
func (p *textTable) fold(front, text string) {
	for _, line := range top.Hang(front, text, p.width) {
		p.text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (p *textTable) String() string {
	p.end()
	return p.text.String()
}
