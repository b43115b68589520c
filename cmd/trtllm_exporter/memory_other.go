//go:build !linux

package main

// releaseStartupMemory does nothing: it is supported only on Linux.
func releaseStartupMemory() {}
