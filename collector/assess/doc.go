// Package assess judges one replica. Evidence (page, answers of the API, facts, canary,
// expectations) goes in, and a [Verdict] comes out: state, severity, a reason in one
// sentence, and the entry of the runbook. The package also owns the identity of a
// replica, the checks that a verdict rests on, the series about what is known of a
// replica besides its page, and what the canary may ask of it.
//
// Everything here is a pure function: the package knows neither clocks nor I/O, and no
// kind of server by name. Begin reading at [Judge].
package assess
