// Package account adds up what servers counted in a stretch of time: requests, tokens, latencies,
// requests at once, KV cache and energy, per model and in sum. It owns which derived family a figure
// comes from, and what keeps a figure from being true: a restart, several processes behind one
// address, a hang. These are named, and what they would falsify is absent. The package reads no clock
// and no server: [Recorder.Add] takes the pages in order of time, whoever scraped them.
//
// A count is the sum of the growth of counters from page to page, so it is exact, and no more than
// that: requests in flight at either end count where they end. Means of times are quotients of such
// sums. Requests at once are sampled by the pages. Percentiles are the bounds of the bucket that
// they fall into.
//
// Start reading at [Recorder.Add]; [Account] is the result.
package account
