//go:build race

package collector_test

// sideBySide is how many tests run at once: with the race detector each of them
// computes many times as much.
const sideBySide = "3"

// raced says whether the race detector is on.
const raced = true
