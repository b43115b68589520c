package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLastColumnIsFoldedUnderItself(t *testing.T) {
	p := &textTable{width: 40}
	p.row("state", "ready: the API answers 200, and the page has samples")
	p.row("engine version", "2.64.0")
	require.Equal(t, ""+
		"state           ready: the API answers\n"+
		"                200, and the page has\n"+
		"                samples\n"+
		"engine version  2.64.0\n", p.String())
}

func TestWhatNobodySeesIsNotFolded(t *testing.T) {
	p := &textTable{}
	p.row("state", strings.Repeat("word ", 50)+"end")
	require.Equal(t, 1, strings.Count(p.String(), "\n"), "a script reads it line by line")
	require.Zero(t, widthOf(&bytes.Buffer{}))
}

func TestAddressesAreNeverCut(t *testing.T) {
	long := "http://" + strings.Repeat("x", 100) + ":8002"
	p := &textTable{width: 40}
	p.row("where", long)
	p.hanging("trtllm_exporter: see " + long)
	require.Equal(t, "where  "+long+"\ntrtllm_exporter: see\n  "+long+"\n", p.String())
}

func TestWideTablesShrinkToTheWidth(t *testing.T) {
	p := &textTable{width: 60}
	p.row("MODEL", "ROLE", "MODEL ID", "STATE", "BATCH")
	p.row(strings.Repeat("m", 70), "entry", strings.Repeat("i", 70), "ready", "8")
	for line := range strings.Lines(p.String()) {
		require.LessOrEqual(t, len([]rune(line)), 61, line)
	}
	require.Contains(t, p.String(), "…  entry")
}

func TestColumnsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	require.Equal(t, 80, widthOf(&bytes.Buffer{}))
	t.Setenv("COLUMNS", "3")
	require.Equal(t, minWidth, widthOf(&bytes.Buffer{}), "a word a line helps nobody")
}
