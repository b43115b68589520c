package config_test

import (
	"slices"
	"strings"
)

// document is a text that is valid. What surrounds it depends on its table.
type document struct{ name, text string }

// mistake is a text that is not valid, and its error without the name of the file.
type mistake struct{ name, text, want string }

// llama is a pool, to which further keys may be added on line 5.
const llama = `pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
`

// whole returns a text of a table as a document.
func whole(text string) string { return strings.TrimPrefix(text, "\n") }

// beforePool returns a document with a block that begins on line 1.
func beforePool(block string) string { return strings.Trim(block, "\n") + "\n" + llama }

// withTargets returns a document whose pool has the given targets.
func withTargets(targets string) string { return strings.Replace(llama, `"10.0.0.1:8002"`, targets, 1) }

// inPool returns a document whose pool has further keys.
func inPool(keys string) string {
	indented := strings.ReplaceAll("\n"+whole(keys), "\n", "\n    ")
	return llama + strings.TrimRight(indented[1:], " \n") + "\n"
}

// valid returns all valid documents of the tables.
func valid() (all []document) {
	for _, d := range validFiles {
		all = append(all, document{name: d.name, text: whole(d.text)})
	}
	for _, d := range validBlocks {
		all = append(all, document{name: d.name, text: beforePool(d.text)})
	}
	for _, d := range validKeys {
		all = append(all, document{name: d.name, text: inPool(d.text)})
	}
	return all
}

// invalid returns all documents of the tables of mistakes.
func invalid() (all []mistake) {
	keys := slices.Concat(poolMistakes, clientMistakes, canaryMistakes, limitMistakes)
	for _, table := range []struct {
		mistakes []mistake
		document func(text string) string
	}{
		{documentMistakes, whole},
		{togetherMistakes, whole},
		{blockMistakes, beforePool},
		{targetMistakes, withTargets},
		{keys, inPool},
	} {
		for _, m := range table.mistakes {
			all = append(all, mistake{name: m.name, text: table.document(m.text), want: strings.Trim(m.want, "\n")})
		}
	}
	return all
}
