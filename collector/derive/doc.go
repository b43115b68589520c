// Package derive computes the llm_server_* families. It owns their catalogue, the window of
// values over which rates and ratios are computed, and the rules that compute series from it.
//
// A [Rule] is a function of a [View], that is of the window and of what the page shows of each
// [Model]. It declares the signals that it reads, from which follows which kinds of servers can have
// the family. What servers show in different ways is a quantity, with the signals and the formula of
// each way. The package reads no clock, does no I/O and knows neither kinds of servers nor the names of
// their metrics.
//
// A series is absent if an input of its rule is absent, not finite, interrupted by a reset, a
// restart or a gap, or has too little history.
//
// What runs when:
//
//   - Once in the life of the program, [Catalogue] lists the families and their rules.
//   - Once for each shape of pages, newIndex groups the series of the page by signal and model, and
//     runs all rules on a window without pages. What they ask for becomes the columns of windows,
//     what they set the series with their labels. Targets with pages of one shape and equal options
//     share the index.
//   - Once a target and shape, the series get the labels of the target and its columns their history.
//   - Once a page, [Deriver.Observe] reads the columns into the window, judges what of the page can be
//     trusted ([View.Trust], [View.Runs]) and follows the conditions of the replica; then
//     [Deriver.Render] runs the rules.
//
// Begin reading at [Deriver.Observe], or with a rule, such as queueDepth.
package derive
