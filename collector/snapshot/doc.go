// Package snapshot keeps the last word of every replica: the blocks of its
// last good scrape and the status of its last scrape. Replicas publish snapshots
// that never change, each behind one atomic pointer, so that neither they nor the
// readers of the page wait. The package knows neither how a block came about nor how
// a page is encoded.
package snapshot
