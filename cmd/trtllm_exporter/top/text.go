package top

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Plain replaces control characters, so that texts from servers cannot control the terminal.
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

// Fit truncates or pads a text to a width, with the padding on the left if right is true.
func Fit(text string, width int, right bool) string {
	text = ansi.Truncate(text, width, "…")
	padding := strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
	if right {
		return padding + text
	}
	return text + padding
}

// Hang folds text after front, with a hanging indentation; width 0 does not fold.
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

// folded breaks text into lines of a width; 0 does not fold. Words are never broken, so that
// addresses can be copied.
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
	}
	return append(lines, line)
}

// count, seconds and percent format numbers like the HTML pages, but without spaces.
func count(v *float64) string   { return compact(web.Count(v)) }
func seconds(v *float64) string { return compact(web.Seconds(v)) }
func percent(v *float64) string { return compact(web.Percent(v)) }

func compact(text string) string { return strings.NewReplacer(" ", "", "\u202f", "").Replace(text) }

// colored gives text the color of a severity, one of the sixteen that every theme has.
func colored(severity, text string) string {
	code := map[string]string{"broken": "1;31", "look": "33", "ok": "32", "unknown": "90"}[severity]
	if code == "" {
		return text
	}
	return style(code, text)
}

func coloredLines(severity string, lines []string) []string {
	for i, l := range lines {
		lines[i] = colored(severity, l)
	}
	return lines
}

// style applies a style to text that has none.
func style(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }

const (
	bold    = "1"
	faint   = "90"
	reverse = "7"
)
