package top

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Plain is a text without characters that do something to a terminal: names and
// reasons come from servers.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return '·'
		}
		return r
	}, text)
}

// Fit cuts a text to a width and fills it up to that, on its left if right.
func Fit(text string, width int, right bool) string {
	text = ansi.Truncate(text, width, "…")
	gap := strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
	if right {
		return gap + text
	}
	return text + gap
}

// Hang returns the lines of a text at a width that begins behind a front, with its further
// lines below its first; a width of 0 does not fold it.
func Hang(front, text string, width int) []string {
	indent := ansi.StringWidth(front)
	if width > 0 {
		width = max(width-indent, 10)
	}
	lines := folded(text, width)
	for i := range lines {
		lines[i] = front + lines[i]
		front = strings.Repeat(" ", indent)
	}
	return lines
}

// folded are the lines of a text at a width, broken between words where that is
// possible; 0 does not fold it. An address is left whole, to be copied.
func folded(text string, width int) []string {
	text = Plain(text)
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for ansi.StringWidth(line) > width && !strings.Contains(word, "://") {
			front := ansi.Truncate(line, width, "")
			lines = append(lines, front)
			if line = line[len(front):]; front == "" {
				return lines
			}
		}
	}
	return append(lines, line)
}

// count, seconds and percent are numbers as the page has them, without its spaces.
func count(v *float64) string   { return tight(web.Count(v)) }
func seconds(v *float64) string { return tight(web.Seconds(v)) }
func percent(v *float64) string { return tight(web.Percent(v)) }

func tight(text string) string { return strings.NewReplacer(" ", "", "\u202f", "").Replace(text) }

// of writes a number of its limit.
func of(v, limit *float64) string {
	if v == nil || limit == nil {
		return count(v)
	}
	return count(v) + "/" + count(limit)
}

// tone is the colour of a severity, in words of the terminal: the sixteen colours
// that every theme has.
func tone(severity, text string) string {
	code := map[string]string{"broken": "1;31", "look": "33", "ok": "32", "unknown": "90"}[severity]
	if code == "" {
		return text
	}
	return style(code, text)
}

// style wraps a text that has no style of its own.
func style(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }

// The styles of a line.
const (
	bold    = "1"
	faint   = "90"
	reverse = "7"
)
