package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether the keys of a terminal send signals to this process and to those that it starts,
// wherever its input comes from.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
