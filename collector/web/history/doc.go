// Package history keeps the last minutes of what the status pages show: a few numbers of each
// replica every five seconds, the changes of its state, and its last failed scrape, all in memory
// and bounded. It reads published snapshots, so no scrape waits for it. It must know neither how
// pages are rendered nor how numbers are derived. Begin reading at [History.Follow].
package history
