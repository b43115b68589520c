// Package exposition owns the page format: it parses the pages of targets,
// keeps their shape from scrape to scrape, merges many of them into one page
// and encodes that page as text, OpenMetrics or protobuf.
//
// # From body to block
//
// A [Cache] belongs to one target. The first body of a target takes the slow
// path: Prometheus' textparse tokenises it, every series is validated,
// labelled through [Options.Label] and rendered as a line prefix; the result
// is a [Shape], of which replicas of one pool have most texts in common. A later
// body that differs from the first in nothing but its values takes the fast
// path: the text between two values is compared, the values are taken and their
// numbers read, and nothing is hashed or allocated. Both paths give the same
// [Block], byte for byte; a differential fuzz test holds them together.
//
// # From blocks to page
//
// A [Merger] lays many blocks out as one page, family by family, and writes
// HELP and TYPE once. Its rules are written at [Merger.Layout].
//
// # What never reaches the page
//
// textparse is a tokeniser, not a validator. Series that would make the page
// unreadable for anybody are dropped one by one and counted in [Drops]; a
// page that is not in the format is refused as a whole. So whatever one
// target sends, the page of all the others stays what it was.
//
// The package knows nothing of targets, engines, windows or HTTP serving.
package exposition
