package config

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// rest checks what is left of a document without the keys and values in which
// the checker found mistakes, so that one run reports those between keys too. It
// leaves out what only says that a key is missing, and what speaks of one that
// was taken out.
func (c *checker) rest(name string, root *yaml.Node) (*File, problems) {
	gone := map[string]bool{}
	prune(root, c.bad, gone)
	f, err := decode(name, root)
	if err != nil {
		return nil, nil
	}
	f.Resolve()
	f.setDirectory(filepath.Dir(name))
	err = f.Validate()
	if err == nil {
		return f, nil
	}
	var found problems
	for _, p := range locate(err, c.lines) {
		if !isAbsence(p.text) && !mentions(p.text, gone) {
			found = append(found, p)
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

// prune takes marked keys, values and entries out of a document, and notes the
// names of the keys.
func prune(n *yaml.Node, bad map[*yaml.Node]bool, gone map[string]bool) {
	var kept []*yaml.Node
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		part := n.Content[i : i+step]
		last := part[step-1]
		if bad[part[0]] || bad[last] || bad[resolve(last)] {
			if step > 1 {
				gone[part[0].Value] = true
			}
			continue
		}
		prune(last, bad, gone)
		kept = append(kept, part...)
	}
	n.Content = kept
}
