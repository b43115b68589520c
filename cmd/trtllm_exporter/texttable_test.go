package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastColumnWraps(t *testing.T) {
	long := "http://" + strings.Repeat("x", 100) + ":8002"
	p := &textTable{width: 40}
	p.row("state", "ready: the API answers 200, and the page has samples")
	p.row("where", long)
	var message bytes.Buffer
	t.Setenv("COLUMNS", "40")
	printFolded(&message, "trtllm_exporter: see "+long+"\n")
	require.Equal(t, ""+
		"state  ready: the API answers 200, and\n"+
		"       the page has samples\n"+
		"where  "+long+"\n"+
		"trtllm_exporter: see\n  "+long+"\n", p.String()+message.String(), "addresses are never cut")
}

func TestWideTablesShrink(t *testing.T) {
	p := &textTable{width: 60}
	p.row("MODEL", "ROLE", "MODEL ID", "STATE", "BATCH")
	p.row(strings.Repeat("m", 70), "entry", strings.Repeat("i", 70), "ready", "8")
	for line := range strings.Lines(p.String()) {
		require.LessOrEqual(t, len([]rune(line)), 61, line)
	}
	require.Contains(t, p.String(), "…  entry")
}

func TestWidthComesFromCOLUMNS(t *testing.T) {
	require.Zero(t, widthOf(&bytes.Buffer{}), "a script reads it line by line")
	t.Setenv("COLUMNS", "80")
	require.Equal(t, 80, widthOf(&bytes.Buffer{}))
	t.Setenv("COLUMNS", "3")
	require.Equal(t, minWidth, widthOf(&bytes.Buffer{}), "a word a line helps nobody")
}
