//go:build !linux

package main

// releaseStartupMemory does nothing: the memory can be released on Linux only.
func releaseStartupMemory() {}
