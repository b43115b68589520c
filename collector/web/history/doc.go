// Package history keeps what the status pages show of the last minutes: a few
// numbers of each replica every five seconds, the changes of its state, and its
// last failure. All of it is in memory and bounded. The package reads published
// snapshots, so that no scrape waits for it; it must not know how a page is
// drawn, nor how a number was derived.
package history
