//go:build !unix

package scrape

// openFiles returns how many files the process may have open.
func openFiles() int { return defaultOpenFiles }
