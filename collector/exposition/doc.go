// Package exposition owns the page format: it parses the pages of targets,
// keeps their shape from scrape to scrape, merges many of them into one page
// and writes that page as text or OpenMetrics, plain or compressed.
//
// # From body to block
//
// A [Cache] belongs to one target. The first body of a target takes the slow
// path: Prometheus' textparse tokenises it, every series is validated,
// labelled through [Options.Label] and rendered as a line prefix; the result
// is a [Shape], whose texts most replicas of one pool share. A later
// body that differs from the first in nothing but its values takes the fast
// path: the text between two values is compared, the values are taken and their
// numbers read, and nothing is hashed or allocated. Both paths give the same
// [Block], byte for byte; a differential fuzz test holds them together.
//
// # From blocks to page
//
// A [Merger] lays many blocks out as one page, family by family, and writes
// HELP and TYPE once. Its rules are written at [Merger.Layout]. One writer serves
// both formats: what OpenMetrics and readers without UTF-8 names get other than
// the rest is made once for a shape, see [Layout.WithFormat].
//
// # What targets owe each other
//
// The page of many targets, reduced to the lines of one, is the page of that one
// alone, byte for byte, in every format: no line of a target is left out or changed
// for what others say. HELP, TYPE and UNIT are said once for all: where targets
// disagree on a type, the family has none, and its lines may come in another
// order. OpenMetrics differs from text in the names of heads, in types, in the
// spelling of bounds and in its last line; what it cannot have under a type has
// none there.
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
