package config

import (
	"regexp"
	"strconv"
	"strings"
)

func syntaxProblem(err error, text string) *problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if line := tabLine(text); line > 0 &&
		(strings.Contains(message, "cannot start any token") || strings.Contains(message, "tab character")) {
		return &problem{line: line, text: "the line is indented with a tab; use spaces"}
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(message); m != nil {
		alias := regexp.MustCompile(regexp.QuoteMeta("*"+m[1]) + `(?:[^\w-]|$)`)
		// It may be a password, and is not repeated.
		return &problem{
			line: firstLine(text, alias.MatchString),
			text: "an alias (*) has no anchor (&) above it; put a text that begins with * in quotes",
		}
	}
	if line := firstLine(text, func(line string) bool { return strings.ContainsRune(line, '\u00a0') }); line > 0 {
		return &problem{
			line: line,
			text: "not valid YAML; the line has a blank that does not break (U+00A0): write an ordinary one",
		}
	}
	line := 0
	if m := regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`).FindStringSubmatch(message); m[1] != "" {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimPrefix(message, m[0])
	}
	// The parser, unlike its scanner, counts lines from 0, and reports the line on which the
	// broken list or mapping starts.
	if strings.HasPrefix(message, "did not find expected") {
		line++
		message += " in the list or mapping that starts here"
	}
	way := "check the indentation, quotes and brackets from this line on"
	switch {
	case strings.HasPrefix(message, "mapping values are not allowed"):
		way = "check the indentation of this line, and whether a colon in it or in the one before lacks its blank, or " +
			"stands in a text without quotes"
	case strings.HasSuffix(message, "cannot start any token"):
		way = "put a text that begins with @, ` or % in quotes"
	}
	return &problem{line: line, text: "not valid YAML: " + message + "; " + way}
}

// tabLine returns the first line with a tab in its indentation, 0 if there is none.
func tabLine(text string) int {
	return firstLine(text, func(line string) bool {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		return strings.Contains(indent, "\t") && strings.TrimSpace(line) != ""
	})
}

// firstLine returns the number of the first line that matches, 0 if none does.
func firstLine(text string, matches func(line string) bool) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if matches(line) {
			return number
		}
	}
	return 0
}
