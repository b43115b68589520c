package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// rest checks what is left of a document without the keys and values in which
// the checker found mistakes, so that one run reports those between keys too. It
// leaves out what only says that a key is missing, and what speaks of one that
// was taken out.
func (c *checker) rest(name string, root *yaml.Node) (*File, problems) {
	cut := pruned{bad: c.bad, gone: map[string]bool{}, kept: map[string][]int{}}
	cut.prune(root, "")
	f, err := c.file(name, root)
	if err != nil {
		return nil, nil
	}
	var found problems
	for _, one := range flatten(f.Validate()) {
		text := cut.original(one.Error())
		if !isAbsence(text) && !mentions(text, cut.gone) {
			found = append(found, locate(&mistake{text, one}, c.lines)...)
		}
	}
	return f, found
}

// isAbsence says whether a message is about something that is not there.
func isAbsence(text string) bool {
	for _, part := range []string{"is required", "has no source of targets", "no pool is given", ": is empty", "has no effect without"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// mentions says whether a message speaks of one of the keys.
func mentions(text string, keys map[string]bool) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), func(word string) bool { return keys[word] })
}

// pruned is a document without the keys, values and entries that are bad.
type pruned struct {
	bad map[*yaml.Node]bool
	// The names of keys that were taken out.
	gone map[string]bool
	// Of lists that lost entries, by their path: which places the others had.
	kept map[string][]int
}

// prune takes bad keys, values and entries out of what is at a path.
func (c *pruned) prune(n *yaml.Node, path string) {
	var left []*yaml.Node
	var places []int
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		part := n.Content[i : i+step]
		last := part[step-1]
		below := path + "[" + strconv.Itoa(i) + "]"
		if n.Kind == yaml.MappingNode {
			below = join(path, part[0].Value)
		}
		if c.bad[part[0]] || c.bad[last] || c.bad[resolve(last)] {
			if step > 1 {
				c.gone[part[0].Value] = true
			}
			continue
		}
		c.prune(last, below)
		left, places = append(left, part...), append(places, i)
	}
	if n.Kind == yaml.SequenceNode && len(left) < len(n.Content) {
		c.kept[path] = places
	}
	n.Content = left
}

// original is a message about what is left with the places of entries as they
// were in the document.
func (c *pruned) original(message string) string {
	if len(c.kept) == 0 {
		return message
	}
	paths := regexp.MustCompile(`[a-z]\w*(?:\.\w+|\[\d+\])*\[\d+\](?:\.\w+)*`)
	parts := regexp.MustCompile(`[^\[]+|\[\d+\]`)
	return paths.ReplaceAllStringFunc(message, func(path string) string {
		was := ""
		for _, part := range parts.FindAllString(path, -1) {
			i, err := strconv.Atoi(strings.Trim(part, "[]"))
			if places := c.kept[was]; err == nil && i < len(places) {
				part = "[" + strconv.Itoa(places[i]) + "]"
			}
			was += part
		}
		return was
	})
}
