// Package derive computes the llm_server_* families. It owns their catalogue, the window
// of values that rates and ratios look back over, and the rules that make series of it.
//
// Rules are pure functions of the window, and declare the signals that they read; which
// kinds of servers can feed a family follows from that. The package reads no clock, does
// no I/O and knows neither kinds of servers nor the names of their metrics.
//
// A series is absent if an input of its rule is absent, not finite, interrupted by a
// reset, a restart or a gap, or not known for long enough.
//
// Begin reading at [Deriver.Observe].
package derive
