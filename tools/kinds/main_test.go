package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentsListEveryKind(t *testing.T) {
	lists, err := lists()
	require.NoError(t, err)
	for _, l := range lists {
		text, err := os.ReadFile(filepath.Join("../..", l.file))
		require.NoError(t, err)
		written, err := l.written(text)
		require.NoError(t, err)
		require.Equal(t, string(text), string(written), "%s: run make generate", l.file)
	}
}

func TestMissingPlaceIsNamed(t *testing.T) {
	l := list{file: "README.md", before: "Servers: ", words: "a and b", after: `\.`}
	_, err := l.written([]byte("Nothing here."))
	require.EqualError(t, err, `README.md: "Servers: " is there 0 times; write it once`)
	written, err := l.written([]byte("Servers: a. More."))
	require.NoError(t, err)
	require.Equal(t, "Servers: a and b. More.", string(written))
}
