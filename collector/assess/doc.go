// Package assess judges one replica: it turns [Evidence] into a [Verdict]. The package also owns
// the identity of a replica, the checks on which a verdict is based, the series about what is
// known besides its page, and the canary's order for it.
//
// All functions are pure: the package knows neither clocks nor I/O, and no kind of server by
// name. Begin reading at [Judge].
package assess
