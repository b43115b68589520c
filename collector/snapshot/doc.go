// Package snapshot keeps the last word of every replica: the blocks of its
// last good scrape and the status of its last scrape. Loops publish, readers
// of the page view; neither waits for the other, but for the moment in which a
// snapshot takes the place of the one before. The package knows neither how a
// block came about nor how a page is encoded.
package snapshot
