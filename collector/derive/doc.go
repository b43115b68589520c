// Package derive computes the llm_server_* families. It owns their catalogue, the window of
// values over which rates and ratios are computed, and the rules that compute series from it.
//
// Rules are pure functions of the window and declare the signals that they read, from which
// follows which kinds of servers can have a family. The package reads no clock, does no I/O and
// knows neither kinds of servers nor the names of their metrics.
//
// A series is absent if an input of its rule is absent, not finite, interrupted by a reset, a
// restart or a gap, or has too little history.
//
// Begin reading at [Deriver.Observe].
package derive
