//go:build race

package collector_test

// parallelTests is the number of parallel tests: each computes much more with the race
// detector.
const parallelTests = "3"

// raceEnabled reports whether the race detector is on.
const raceEnabled = true
