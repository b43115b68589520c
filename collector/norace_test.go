//go:build !race

package collector_test

// parallelTests is the number of parallel tests, which mostly wait.
const parallelTests = "16"

// raceEnabled reports whether the race detector is on.
const raceEnabled = false
