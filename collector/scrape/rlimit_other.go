//go:build !unix

package scrape

// openFiles is how many files the process may have open.
func openFiles() int { return usualFiles }
