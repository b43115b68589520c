// Package exposition implements the page format. It parses the pages of targets,
// caches their shape from scrape to scrape, merges the pages of many targets and
// writes the result as text, plain or compressed. It knows nothing of targets, engines,
// windows or HTTP handlers.
//
// # Parsing
//
// Every target has a [Cache]; [Cache.Parse] is the place to begin reading. A new body takes the
// slow path: Prometheus' textparse tokenizes it (parse.go), every series is validated, labeled by
// its [Labeler] and rendered as the prefix of a line (renderer.go), and the prefixes are sorted
// into families (builder.go). The result is a [Shape]. A body that differs from the previous one
// in values only takes the fast path (pattern.go): it compares the text between the values and
// scans the numbers, without hashing or allocating per series. Both paths return the same [Block],
// byte for byte; a differential fuzz test compares them.
//
// The slow path also leaves out what must not be shown (secret.go). The fast path need not search for it:
// it compares the text as the server wrote it.
//
// Replicas of a pool have the same series apart from replica_id and gpu_uuid. The text of their
// lines is stored once, without these values (sharedtext.go). Equal lists of shapes are interned
// (intern.go).
//
// # Merging and writing
//
// A [Merger] merges the blocks of all targets into the [Layout] of one page, see [Merger.Layout]
// for the rules. A layout writes text (text.go). The merger also keeps the shapes as readers without
// UTF-8 names need them (escape.go).
//
// # Isolation
//
// The merged page, reduced to the lines of one target, equals the page of that target alone, byte
// for byte and however names are escaped. HELP and TYPE are written once for all. The exceptions are
// families on which targets disagree: of these, the same lines are written, perhaps in another order
// and under another HELP or TYPE.
//
// textparse is a tokenizer, not a validator. Series that would make the merged page
// unreadable are dropped one by one and counted in [Drops]; a body that is not in
// the format is rejected as a whole.
package exposition
