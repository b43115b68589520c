//go:build !unix

package scrape

func openFiles() int { return defaultOpenFiles }
