//go:build !race

package collector_test

// sideBySide is how many tests run at once: they wait rather than compute.
const sideBySide = "16"

// raced says whether the race detector is on.
const raced = false
