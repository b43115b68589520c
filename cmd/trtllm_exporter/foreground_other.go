//go:build !linux

package main

import (
	"os"

	"golang.org/x/term"
)

// inForeground reports whether the keys of a terminal send signals to this process and to those that it starts, as
// far as its input tells.
func inForeground() bool { return term.IsTerminal(int(os.Stdin.Fd())) }
