package config

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	// The line that a message of the YAML package speaks of.
	syntaxLine = `^(?:yaml: )?(?:line (\d+): )?`
	// A message of the YAML package that has no line.
	unknownAnchor = `^unknown anchor '(.*)' referenced$`
)

// syntaxProblem puts a syntax error of the YAML package into words.
func syntaxProblem(err error, text string) problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if line := tabLine(text); line > 0 && (strings.Contains(message, "cannot start any token") || strings.Contains(message, "tab character")) {
		return problem{line: line, text: "the line is indented with a tab; use spaces"}
	}
	if m := regexp.MustCompile(unknownAnchor).FindStringSubmatch(message); m != nil {
		return problem{line: lineWith(text, "*"+m[1]), text: "the alias *" + m[1] + " has no anchor; define &" + m[1] + " above it"}
	}
	line := 0
	if m := regexp.MustCompile(syntaxLine).FindStringSubmatch(message); m[1] != "" {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimPrefix(message, m[0])
	}
	// The parser, unlike the scanner below it, counts lines from 0, and names
	// the line on which the broken list or mapping starts.
	if strings.HasPrefix(message, "did not find expected") {
		line++
		message += " in the list or mapping that starts here"
	}
	return problem{line: line, text: "not valid YAML: " + message + "; check the indentation, quotes and brackets from this line on"}
}

// tabLine is the first line whose indentation has a tab, 0 if there is none.
func tabLine(text string) int {
	return firstLine(text, func(line string) bool {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		return strings.Contains(indent, "\t") && strings.TrimSpace(line) != ""
	})
}

// firstLine is the number of the first line that is so, 0 if none is.
func firstLine(text string, is func(line string) bool) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if is(line) {
			return number
		}
	}
	return 0
}

// lineWith is the first line that has a word which is not the beginning of a longer one.
func lineWith(text, word string) int {
	return firstLine(text, regexp.MustCompile(regexp.QuoteMeta(word)+`(?:[^\w-]|$)`).MatchString)
}
