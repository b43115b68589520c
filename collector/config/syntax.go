package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
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
	number := 0
	for line := range strings.Lines(text) {
		number++
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			return number
		}
	}
	return 0
}

// brokenLine is the first line that is not UTF-8, 0 if there is none.
func brokenLine(text []byte) int {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !utf8.Valid(line) {
			return number
		}
	}
	return 0
}

// lineWith is the first line that has a word.
func lineWith(text, word string) int {
	before, _, _ := strings.Cut(text, word)
	return strings.Count(before, "\n") + 1
}
