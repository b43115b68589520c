// Package assess judges one replica: it turns [Evidence] into a [Verdict]. The package also owns
// the identity of a replica, the checks on which a verdict is based, the series about what is
// known besides its page, the canary's order for it, and the tables of all families about servers,
// their targets and the exporter: [Catalogue] and [ExporterMetrics].
//
// A verdict follows from its evidence alone, and what outlives a page is in [Memory]. The package reads no
// clock, does no I/O but the log of [Announce], and knows no kind of server by name. Begin reading at [Judge].
package assess
