// Package derive computes the llm_server_* families. It owns their catalogue
// (names, types, units, formulas and grades of accuracy), the window of values
// that rates and ratios look back over, and the rules that turn a window into
// series.
//
// Rules are pure functions of the window, and declare the signals that they read;
// which kinds of servers can feed a family follows from that. Time arrives with
// each page: the package reads no clock, does no I/O and knows neither kinds of
// servers nor the names of their metrics, which belong to package engine.
//
// A value is exported only when it can be trusted. A rule has no value, and its
// series is absent, if an input is absent, not finite, interrupted by a reset, a
// restart or a gap, or not known for long enough.
//
// Begin reading at [Deriver.Observe].
package derive
