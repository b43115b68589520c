package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// TestNotesAreChecked has notes that would be lost without a word.
func TestNotesAreChecked(t *testing.T) {
	for _, c := range []struct{ notes, want string }{
		{"## vllm\nrequests_totl: misspelt\n", "notes.md, line 2: no family is called requests_totl"},
		{"## vllm\nonly a note\n", "notes.md, line 2 has no family: only a note"},
		{"## vllm\nmodel_unloaded: not of vLLM\n", "notes.md: vllm has no model_unloaded"},
		{"## vlm\nrequests_total: of a kind that does not exist\n", "notes.md: there is no kind of server vlm"},
	} {
		read, err := readNotes(c.notes, assess.Catalogue())
		if err == nil {
			err = sources(&bytes.Buffer{}, assess.Catalogue(), read)
		}
		require.EqualError(t, err, c.want)
	}
}

// TestReleasesAreOrdered has a candidate of a release, which counts as that where nothing names another.
func TestReleasesAreOrdered(t *testing.T) {
	for _, c := range []struct{ a, b, first, last string }{
		{"0.9.0", "0.10.0", "0.9.0", "0.10.0"},
		{"1.3", "1.3.0rc5", "1.3.0rc5", "1.3"},
		{"1.3.0rc5", "1.4", "1.3.0rc5", "1.4"},
		{"", "0.9.0", "", "0.9.0"},
		{"0.9.0", missing, "0.9.0", missing},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			require.Equal(t, c.first, earlier(pair[0], pair[1]), pair)
			require.Equal(t, c.last, later(pair[0], pair[1]), pair)
		}
	}
}
