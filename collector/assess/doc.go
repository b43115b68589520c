// Package assess judges one replica. [Evidence] goes in, and a [Verdict] comes out. The
// package also owns the identity of a replica, the checks that a verdict rests on, the
// series about what is known besides its page, and what the canary may ask of it.
//
// Everything here is a pure function: the package knows neither clocks nor I/O, and no
// kind of server by name. Begin reading at [Judge].
package assess
