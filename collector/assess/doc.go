// Package assess judges one replica. Evidence (page, answers of the API, facts,
// canary, expectations) goes in, and one verdict comes out: state, severity, a
// reason in one sentence and the runbook's entry, with the checks that it rests
// on. One table says how the checks are shown, as series, on /targets and to
// people. Who the replica is, and the series of what is known of it besides its page,
// are here too, and what the canary may ask of it.
//
// Everything here is a pure function: the package knows neither clocks nor
// I/O, and no kind of server by name.
package assess
